/** gVisor's program on this machine: where it is, which version, and the ways in which it can get at system calls. */
import { execFile } from "node:child_process";
import { basename, dirname, isAbsolute } from "node:path";
import { findProgram } from "../../core/find-program.js";
import type { JailRuntime } from "../linux/jail-spec.js";

export type GvisorPlatform = JailRuntime["platform"];

/** The fastest first. Which of them works here is found out by running a sandbox. */
export const gvisorPlatforms: readonly GvisorPlatform[] = ["systrap", "kvm", "ptrace"];

/** A path that is named outright is the only one. Null where there is none that may be executed. */
export function runscPath(env: Readonly<Record<string, string | undefined>>): string | null {
  const { AGENTKERNEL_RUNSC: named = "", PATH = "" } = env;
  if (named !== "") return isAbsolute(named) ? findProgram(basename(named), dirname(named)) : null;
  return findProgram("runsc", `${PATH}:/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin`);
}

/** As it tells itself, for people; "of unknown version" where it does not. */
export function runscVersion(program: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: 5_000, maxBuffer: 64 << 10, env: {} }, (_, stdout) => {
      resolve(/^runsc version (\S+)/m.exec(stdout)?.[1] ?? "of unknown version");
    });
  });
}
