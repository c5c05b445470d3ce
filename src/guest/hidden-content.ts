/** Asks `ak-copy`, which has the tests of content, whether files are secrets. */
import { Buffer } from "node:buffer";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { AgentKernelError } from "../core/errors.js";
import { nativeBinary } from "../core/native-binary.js";
import type { HideRule } from "../core/policy.js";

interface HiddenPath {
  /** Relative to what was searched. */
  readonly path: string;
  readonly reason: string;
}

interface HiddenPaths {
  readonly hidden: readonly HiddenPath[];
  /** More are hidden, and not listed. */
  readonly omitted: number;
  /** How many files of them git tracks. */
  readonly tracked: number;
}

const MAX_OUTPUT_BYTES = 16 << 20;

/** Whether a file that is named outright holds what the rule asks for. Only for a file whose name the rule matches. */
export function holdsSecret(file: string, rule: HideRule): boolean {
  return searchHidden(file, [rule]).hidden.length > 0;
}

/** The same as `searchHidden`, for those who have something else to do meanwhile. */
export async function findHidden(path: string, hide: readonly HideRule[]): Promise<HiddenPaths> {
  const child = spawn(nativeBinary("ak-copy"), ["hidden"], { env: {}, stdio: ["pipe", "pipe", "pipe"] });
  const told: Buffer[] = [];
  const complaint: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => told.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => complaint.push(chunk));
  // One that ended early says why, or with which status.
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify({ path, hide }));
  const [status] = (await once(child, "close")) as [number | null];
  if (status !== 0) throw unsearched(path, Buffer.concat(complaint).toString("utf8"));
  return JSON.parse(Buffer.concat(told).toString("utf8")) as HiddenPaths;
}

function unsearched(path: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("internal", `secrets in ${path} could not be searched for: ${why.trim()}`, { cause });
}

/** Lists hidden entries of a directory, or tells whether a file is hidden. */
function searchHidden(path: string, hide: readonly HideRule[]): HiddenPaths {
  const { status, stdout, stderr, error } = spawnSync(nativeBinary("ak-copy"), ["hidden"], {
    input: JSON.stringify({ path, hide }),
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
    env: {},
  });
  if (status !== 0) throw unsearched(path, stderr ?? "", error);
  return JSON.parse(stdout) as HiddenPaths;
}
