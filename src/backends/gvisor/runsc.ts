/** gVisor's program on this machine: where it is, which version, and the ways in which it can get at system calls. */
import { execFile } from "node:child_process";
import { findProgram } from "../../core/find-program.js";
import type { JailRuntime } from "../linux/jail-spec.js";

export type GvisorPlatform = JailRuntime["platform"];

/** The fastest first. Which of them works here is found out by running a sandbox. */
export const gvisorPlatforms: readonly GvisorPlatform[] = ["systrap", "kvm", "ptrace"];

/** A path that is named outright is used as it is. */
export function runscPath({
  AGENTKERNEL_RUNSC: named,
  PATH,
}: Readonly<Record<string, string | undefined>>): string | null {
  if (named !== undefined && named !== "") return named.startsWith("/") ? named : null;
  return findProgram("runsc", `${PATH ?? ""}:/usr/local/bin:/usr/bin:/usr/local/sbin:/usr/sbin`);
}

/** As it tells itself, for people; "of unknown version" where it does not. */
export function runscVersion(program: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, ["--version"], { timeout: 5_000, maxBuffer: 64 << 10, env: {} }, (_, stdout) => {
      resolve(/^runsc version (\S+)/m.exec(stdout)?.[1] ?? "of unknown version");
    });
  });
}
