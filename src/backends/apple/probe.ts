/** Whether Apple's program can be used on this machine, found out by asking it. */
import { existsSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { isAgentKernelError } from "../../core/errors.js";
import { versionOf } from "./answers.js";
import { CliRefusal, ContainerCli } from "./cli.js";

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** Of the kernel. */
  readonly release: string;
}

export const thisMachine: Machine = { platform: process.platform, arch: process.arch, release: release() };

type AppleProbe =
  | { readonly works: true; readonly version: string }
  | { readonly works: false; readonly reason: string; readonly nextStep: string | null };

/** The kernel of macOS 26. */
const FIRST_DARWIN = 25;
/** Earlier ones lack options that hold a policy, and change from one to the next. */
const FIRST_VERSION = 1;
const PATIENCE_MS = 15_000;
const INSTALL = "install Apple's container 1.0 or later from its releases on GitHub, then run `container system start`";

export async function probeApple(
  machine: Machine,
  program: string | null,
  guestFolder: string | null,
  signal?: AbortSignal,
): Promise<AppleProbe> {
  const no = (reason: string, nextStep: string | null) => ({ works: false, reason, nextStep }) as const;
  if (machine.platform !== "darwin") return no("needs macOS 26 or later on Apple silicon", null);
  if (machine.arch !== "arm64") return no("needs Apple silicon", "use --backend docker");
  if (Number.parseInt(machine.release, 10) < FIRST_DARWIN) return no("needs macOS 26 or later", "update macOS");
  if (program === null) return no("there is no `container` that could be started", INSTALL);
  const missing = ["ak-entry", "ak-guest"].filter(
    (name) => guestFolder === null || !existsSync(join(guestFolder, name)),
  );
  if (missing.length > 0) {
    const build = "build them for aarch64 Linux and name their folder in AGENTKERNEL_LINUX_GUEST";
    return no(`this package has no ${missing.join(" and ")} for Linux on arm64`, build);
  }
  const cli = new ContainerCli(program);
  const options = { signal, patienceMs: PATIENCE_MS };
  try {
    await cli.ask(["system", "status"], options);
    const version = versionOf(await cli.json(["system", "version", "--format", "json"], options));
    if (version !== null && Number.parseInt(version, 10) >= FIRST_VERSION) return { works: true, version };
    return no(`its version ${version ?? "is not known and"} is not 1.0 or later`, INSTALL);
  } catch (error) {
    if (error instanceof CliRefusal)
      return no(`its service does not answer: ${error.words}`, "run `container system start`");
    if (isAgentKernelError(error)) return no(error.message, INSTALL);
    throw error;
  }
}
