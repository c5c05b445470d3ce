/** Reads a client's first frame: records of a letter, a length and bytes. */
import { Buffer } from "node:buffer";
import { readlinkSync } from "node:fs";
import type { TerminalSize } from "../../core/exec.js";

export interface ClientStart {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null where its folder does not exist any more. */
  readonly cwd: string | null;
  /** The namespaces and the root that it lives in. */
  readonly place: string;
  readonly hasInput: boolean;
  readonly isTerminal: readonly [boolean, boolean, boolean];
  readonly window: TerminalSize | null;
}

/** Size of a record's letter and length. */
const RECORD_HEAD_BYTES = 5;

const PLACES = ["ns/mnt", "ns/net", "ns/user", "ns/pid", "root"];

/** Of this process: a client that lives elsewhere sees other files or another network. */
export function ownPlace(): string {
  return PLACES.map((name) => readlinkSync(`/proc/self/${name}`)).join("\n");
}

/**
 * Understands what clients say. Who calls again and again says the same again, and gets the same value: what is worked
 * out from a caller's environment can then be found by that.
 */
export class StartReader {
  #payload: Buffer = Buffer.alloc(0);
  #start: ClientStart | null = null;

  read(payload: Buffer): ClientStart {
    if (this.#start !== null && this.#payload.equals(payload)) return this.#start;
    const start = parseStart(payload);
    // The bytes are the socket's.
    this.#payload = Buffer.from(payload);
    this.#start = start;
    return start;
  }
}

export function parseStart(payload: Buffer): ClientStart {
  const words: string[] = [];
  const env: Record<string, string> = Object.create(null);
  const place: string[] = [];
  let cwd: string | null = null;
  let streams = "";
  let window: TerminalSize | null = null;
  for (let at = 0; at < payload.length; ) {
    const letter = String.fromCharCode(payload[at] ?? 0);
    const start = at + RECORD_HEAD_BYTES;
    const end = start + (start <= payload.length ? payload.readUInt32LE(at + 1) : 0);
    if (start > payload.length || end > payload.length) throw new RangeError("a record is cut off");
    at = end;
    if (letter === "w") {
      window = parseWindow(payload.subarray(start, end));
      continue;
    }
    const text = payload.toString("utf8", start, end);
    if (letter === "a") words.push(text);
    else if (letter === "e") addVariable(env, text);
    else if (letter === "c") cwd = text;
    else if (letter === "p") place.push(text);
    else if (letter === "s") streams = text;
  }
  if (!/^[tno][to][to]$/.test(streams)) throw new RangeError("the client does not say what its streams are");
  const [input, out, err] = streams;
  return {
    words: Object.freeze(words),
    env: Object.freeze(env),
    cwd,
    place: place.join("\n"),
    hasInput: input !== "n",
    isTerminal: [input === "t", out === "t", err === "t"],
    window,
  };
}

/** The first of two with one name counts, as for a process. */
function addVariable(env: Record<string, string>, text: string): void {
  const at = text.indexOf("=", 1);
  if (at > 0) env[text.slice(0, at)] ??= text.slice(at + 1);
}

/** Null where the terminal says that it has no size. */
export function parseWindow(payload: Buffer): TerminalSize | null {
  if (payload.length !== 4) throw new RangeError("a window's size is two numbers");
  const [cols, rows] = [payload.readUInt16LE(0), payload.readUInt16LE(2)];
  return cols === 0 || rows === 0 ? null : { cols, rows };
}
