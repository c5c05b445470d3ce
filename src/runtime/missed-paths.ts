/** A command that says a file is not there, where it is hidden: the user is told so at the end. */
import type { HiddenFile, HiddenFiles, Layer } from "../core/backend.js";
import type { OutputSink } from "../guest/index.js";

const MISSING =
  /no such file|not found|does not exist|ENOENT|Errno 2\b|cannot (?:open|find|stat|access|read)|can't open|unable to (?:open|read|load)|failed to (?:open|read|load)|no module named/i;
/** A line that is cut by the end of a chunk is looked at again with the next one. */
const KEPT_CHARS = 2048;
const MOST_EXPLAINED = 3;

export function hiddenIn(layers: readonly Layer[]): HiddenFiles | null {
  return layers.find(({ hidden }) => hidden !== undefined)?.hidden ?? null;
}

const MOST_LINES = 100;

export class MissedPaths {
  readonly #files: readonly HiddenFile[] | null;
  readonly #missed = new Set<HiddenFile>();
  /** Where it is not known yet what is hidden: lines about something that is missing. */
  readonly #lines: string[] = [];

  /** `later`: what is hidden is told to `explain`, if there is something to be explained. */
  constructor(hidden: HiddenFiles | null | "later") {
    this.#files = hidden === "later" ? null : (hidden?.files ?? []);
  }

  get isInDoubt(): boolean {
    return this.#lines.length > 0;
  }

  /** What to say, now that it is known what is hidden. */
  explain(hidden: HiddenFiles | null): readonly string[] {
    const known = new MissedPaths(hidden);
    known.look(this.#lines.join("\n"));
    return known.remarks;
  }

  get remarks(): readonly string[] {
    return [...this.#missed].slice(0, MOST_EXPLAINED).map(({ path, reason }) => {
      return `${path} is there, but hidden from the sandbox (${reason}); to show it: --show ${shellWord(path)}`;
    });
  }

  /** The same sink, whose text is looked at on its way. */
  watch(sink: OutputSink): OutputSink {
    if (this.#files?.length === 0) return sink;
    let before = "";
    return {
      write: (chunk, done) => {
        const text = before + chunk.toString("latin1");
        this.look(text);
        before = text.slice(-KEPT_CHARS);
        sink.write(chunk, done);
      },
      end: (error) => sink.end(error),
    };
  }

  look(text: string): void {
    if (this.#missed.size === this.#files?.length || !MISSING.test(text)) return;
    for (const line of text.split("\n")) {
      if (!MISSING.test(line)) continue;
      if (this.#files === null && this.#lines.length < MOST_LINES) this.#lines.push(line.slice(-KEPT_CHARS));
      for (const file of this.#files ?? []) {
        if (names(line, file)) this.#missed.add(file);
      }
    }
  }
}

/** Non-ASCII names were read byte by byte. */
function names(line: string, { path }: HiddenFile): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const [, module] = /no module named '?"?([\w.]+)/i.exec(line) ?? [];
  if (module !== undefined) return name === `${module.slice(module.lastIndexOf(".") + 1)}.py`;
  const bytes = Buffer.from(name).toString("latin1");
  const at = line.indexOf(bytes);
  if (at < 0) return false;
  return !/[\w.-]$/.test(line.slice(0, at)) && !/^(?:[\w-]|\.\w)/.test(line.slice(at + bytes.length));
}

function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`;
}
