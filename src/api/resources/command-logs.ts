/** The kept output of one detached command, as answers have it. */
import { Buffer } from "node:buffer";
import { exitStatus } from "../../runtime/command-end.js";
import type { ExecInfo, Sandbox } from "../../runtime/sandboxes/index.js";
import type { ExecLogAnswer } from "../operations/watching.js";
import { timeOf } from "./sandboxes.js";

/** The newest of one command's output that an answer holds. */
const MAX_LOG_BYTES = 1 << 20;

interface LogQuery {
  readonly encoding?: "utf8" | "base64";
  /** Only so many of the last lines. */
  readonly tail?: number;
}

export async function logOf(
  sandbox: Sandbox,
  info: ExecInfo,
  { encoding = "utf8", tail: tailLines }: LogQuery,
  signal: AbortSignal,
): Promise<ExecLogAnswer> {
  const parts: Record<1 | 2, Buffer[]> = { 1: [], 2: [] };
  let dropped = 0;
  for await (const piece of sandbox.logs(info.id, { follow: false, tailBytes: MAX_LOG_BYTES, tailLines, signal })) {
    if ("bytes" in piece) parts[piece.stream].push(Buffer.from(piece.bytes));
    else dropped += piece.lostBytes;
  }
  return {
    exec: info.id,
    command: info.argv,
    state: info.state,
    started_at: timeOf(info.startedAtMs),
    ended_at: info.endedAtMs === null ? null : timeOf(info.endedAtMs),
    exit_code:
      info.state === "ended" ? exitStatus({ exit: { ...info, usage: noUsage }, timedOut: info.timedOut }) : null,
    stdout: Buffer.concat(parts[1]).toString(encoding),
    stderr: Buffer.concat(parts[2]).toString(encoding),
    encoding,
    dropped_bytes: dropped,
  };
}

const noUsage = { userUs: 0, systemUs: 0, maxRssKiB: 0 };
