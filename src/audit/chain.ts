/**
 * Follows the chain through the lines of a log and says what breaks it, and where. Pure: lines in, problems out. A
 * line that was changed shows by its own hash; a line that is gone by the number and the hash that the next one names.
 */
import { decodeLine, NO_HASH } from "./line.js";

type ProblemKind = "edited" | "missing" | "reordered" | "added" | "cut" | "head";

export interface Problem {
  readonly kind: ProblemKind;
  readonly file: string | null;
  /** From 1; null where it is about the file as a whole. */
  readonly line: number | null;
  readonly message: string;
}

interface LinePosition {
  readonly file: string;
  readonly line: number;
}

interface Gap {
  first: number;
  last: number;
  readonly at: LinePosition;
}

/** More would tell nobody more. */
const MOST_PROBLEMS = 100;

export class Chain {
  /** Of the line with the highest number so far. */
  seq = 0;
  hash = NO_HASH;
  lines = 0;
  omitted = 0;
  /** The hash of the line with this number, where the head or somebody outside named it. */
  readonly hashes = new Map<number, string>();
  readonly #problems: Problem[] = [];
  #gaps: Gap[] = [];
  #last: LinePosition | null = null;
  readonly #watched: ReadonlySet<number>;
  readonly #expected: string | null;
  #isExpectedSeen = false;

  constructor(watchedSeqs: readonly number[], expectedHash: string | null) {
    this.#watched = new Set(watchedSeqs);
    this.#expected = expectedHash;
  }

  /** Lines before the first were removed for their age, as a later line says. */
  startAfter(seq: number, hash: string): void {
    this.seq = seq;
    this.hash = hash;
  }

  take(text: string, at: LinePosition): string | null {
    this.lines++;
    const { line, claimed } = decodeLine(text);
    if (line === null) {
      this.problem("edited", at, "this line is not as it was written");
      // The lines behind it were written after what it says it was.
      this.seq++;
      this.hash = claimed ?? UNKNOWN;
      this.#last = at;
      return null;
    }
    if (line.hash === this.#expected) this.#isExpectedSeen = true;
    if (this.#watched.has(line.seq)) this.hashes.set(line.seq, line.hash);
    if (line.seq <= this.seq) {
      this.#late(line.seq, at);
      return line.type;
    }
    if (line.seq > this.seq + 1) this.#gaps.push({ first: this.seq + 1, last: line.seq - 1, at });
    else if (line.prev !== this.hash && this.hash !== UNKNOWN) this.#brokenLink(at);
    this.seq = line.seq;
    this.hash = line.hash;
    this.#last = at;
    return line.type;
  }

  problem(kind: ProblemKind, at: LinePosition | { file: string | null; line: null }, message: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push({ kind, ...at, message });
    else this.omitted++;
  }

  get hasSeenExpected(): boolean {
    return this.#expected === null || this.#isExpectedSeen;
  }

  /** In the order of the log. */
  problems(): readonly Problem[] {
    const gaps = this.#gaps.map(({ first, last, at }): Problem => {
      const which = first === last ? `line number ${first} is` : `line numbers ${first} to ${last} are`;
      return { kind: "missing", ...at, message: `${which} missing before this line` };
    });
    return [...this.#problems, ...gaps].sort(
      (one, other) => (one.file ?? "~").localeCompare(other.file ?? "~") || (one.line ?? 0) - (other.line ?? 0),
    );
  }

  /** Both lines are whole in themselves, so the one before was changed together with its hash, or put there. */
  #brokenLink(at: LinePosition): void {
    this.problem("edited", this.#last ?? at, "this line is not the one that the next was written after");
  }

  #late(seq: number, at: LinePosition): void {
    const gap = this.#gaps.find(({ first, last }) => first <= seq && seq <= last);
    if (gap === undefined) {
      this.problem("added", at, `line number ${seq} is here again`);
      return;
    }
    this.problem("reordered", at, `line number ${seq} does not belong here`);
    this.#gaps = this.#gaps.flatMap((one) => (one === gap ? without(one, seq) : [one]));
  }
}

const UNKNOWN = "?";

function without({ first, last, at }: Gap, seq: number): Gap[] {
  const parts = [
    { first, last: seq - 1, at },
    { first: seq + 1, last, at },
  ];
  return parts.filter((part) => part.first <= part.last);
}
