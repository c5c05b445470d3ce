/** Asks `ak-copy`, which has the tests of content, whether files are secrets. */
import { spawnSync } from "node:child_process";
import { AgentKernelError } from "../core/errors.js";
import { nativeBinary } from "../core/native-binary.js";
import type { HideRule } from "../core/policy.js";

export interface HiddenPath {
  /** Relative to what was searched. */
  readonly path: string;
  readonly reason: string;
}

export interface HiddenPaths {
  readonly hidden: readonly HiddenPath[];
  /** More are hidden, and not listed. */
  readonly omitted: number;
}

const MAX_OUTPUT_BYTES = 16 << 20;

/** Whether a file that is named outright holds what the rule asks for. Only for a file whose name the rule matches. */
export function holdsSecret(file: string, rule: HideRule): boolean {
  return searchHidden(file, [rule]).hidden.length > 0;
}

/** What of a directory is hidden, or whether a file is. */
export function searchHidden(path: string, hide: readonly HideRule[]): HiddenPaths {
  const { status, stdout, stderr, error } = spawnSync(nativeBinary("ak-copy"), ["hidden"], {
    input: JSON.stringify({ path, hide }),
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
    env: {},
  });
  if (status !== 0) {
    throw new AgentKernelError("internal", `secrets in ${path} could not be searched for: ${stderr?.trim() ?? ""}`, {
      cause: error,
    });
  }
  return JSON.parse(stdout) as HiddenPaths;
}
