/**
 * Commands of a kept sandbox that outlived an earlier connection, as the guest lists them in its HELLO. The list is
 * bounded and checked like everything else; a guest that lies in it garbles the output of its own commands.
 */
import type { ExecExit } from "../core/exec.js";
import { MAX_KEPT_EXECS, MAX_WINDOW_BYTES } from "./frame.js";
import {
  badMember,
  flagMember,
  integerMember,
  type JsonObject,
  member,
  objectListMember,
  objectMember,
  stringMember,
} from "./json.js";
import { type GuestRefusal, plainText, readExit, readPid, readRefusal } from "./messages.js";

const KEY_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_PROGRAM_LENGTH = 32;

/** Bytes since the command's start: up to `acked` they are gone, up to `sent` they can be had (again). */
export interface KeptOutput {
  readonly acked: number;
  readonly sent: number;
}

export interface KeptExec {
  readonly key: string;
  /** null: it has not been executed yet. */
  readonly pid: number | null;
  readonly program: string;
  readonly tty: boolean;
  /** Bytes of stdin that have reached the sandbox; null where it has none. */
  readonly stdin: { readonly receivedBytes: number; readonly ended: boolean } | null;
  readonly stdout: KeptOutput;
  /** null with a terminal. */
  readonly stderr: KeptOutput | null;
  /** null: it runs. Its last output may still be waiting. */
  readonly exit: ExecExit | null;
  /** Why it never ran. */
  readonly failure: GuestRefusal | null;
}

export function isExecKey(text: string): boolean {
  return KEY_PATTERN.test(text);
}

export function readKeptExecs(hello: JsonObject): readonly KeptExec[] {
  const execs = objectListMember(hello, "execs", MAX_KEPT_EXECS).map(readKeptExec);
  if (new Set(execs.map(({ key }) => key)).size !== execs.length) throw badMember("execs");
  return execs;
}

function readKeptExec(body: JsonObject): KeptExec {
  const key = stringMember(body, "key", 64);
  if (!isExecKey(key)) throw badMember("key");
  const tty = flagMember(body, "tty");
  if (tty !== (member(body, "stderr") === null)) throw badMember("stderr");
  const exit = member(body, "exit") === undefined ? null : readExit(objectMember(body, "exit"));
  const failure = member(body, "failed") === undefined ? null : readRefusal(objectMember(body, "failed"));
  if (exit !== null && failure !== null) throw badMember("failed");
  return {
    key,
    pid: member(body, "pid") === null ? null : readPid(body),
    program: plainText(stringMember(body, "program", MAX_PROGRAM_LENGTH)),
    tty,
    stdin: member(body, "stdin") === null ? null : readInput(objectMember(body, "stdin")),
    stdout: readOutput(objectMember(body, "stdout")),
    stderr: tty ? null : readOutput(objectMember(body, "stderr")),
    exit,
    failure,
  };
}

function readInput(body: JsonObject): { readonly receivedBytes: number; readonly ended: boolean } {
  return {
    receivedBytes: integerMember(body, "received", 0, Number.MAX_SAFE_INTEGER),
    ended: flagMember(body, "ended"),
  };
}

/** No more than the windows of two hosts can be unacknowledged. */
function readOutput(body: JsonObject): KeptOutput {
  const acked = integerMember(body, "acked", 0, Number.MAX_SAFE_INTEGER);
  const sent = integerMember(body, "sent", acked, Math.min(acked + 2 * MAX_WINDOW_BYTES, Number.MAX_SAFE_INTEGER));
  return { acked, sent };
}
