/** `stop --all` and `stop --all-of-user`: the kill switch. It asks nobody, so that it works whatever state the daemon is in. */
import { realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ContainerCli, containerPath } from "../../backends/apple/cli.js";
import { endAllOnApple } from "../../backends/apple/owners.js";
import { EngineClient } from "../../backends/engine/client.js";
import { endAllContainers } from "../../backends/engine/end-all.js";
import { probeEngine } from "../../backends/engine/probe.js";
import { endAll } from "../../backends/linux/end-all.js";
import { runningSupervisors } from "../../backends/linux/persistent/supervisors.js";
import { stateMark } from "../../backends/linux/state-mark.js";
import { AgentKernelError } from "../../core/errors.js";
import { nativeBinary } from "../../core/native-binary.js";
import { engineFolder, journalFolder, sandboxesFolder } from "../../core/state-folders.js";
import type { Invocation } from "../../invocation/index.js";
import { openBackend } from "../../runtime/open-backend.js";
import { isSandboxName } from "../../runtime/sandboxes/name.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function stopAll(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  if (parsed.rest.length > 0 || parsed.values.has("timeout")) {
    const flag = parsed.flags.has("all-of-user") ? "--all-of-user" : "--all";
    throw new AgentKernelError("invalid_argument", `stop ${flag} takes no names and no --timeout`, {
      hint: `it kills every sandbox at once; leave ${flag} out to stop some in order`,
    });
  }
  const ended = await endEverySandbox(invocation, parsed.flags.has("all-of-user") ? "user" : "state-directory");
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: { ended } });
  return await writeOut(invocation, `${ended} ${ended === 1 ? "sandbox" : "sandboxes"} ended\n`);
}

/** Those of the caller's state directory, or all of the user that runs the caller, other homes and tests included. */
type KillScope = "state-directory" | "user";

/** Returns how many there were. */
export async function endEverySandbox(invocation: Invocation, scope: KillScope): Promise<number> {
  const { env, homeDir } = invocation;
  const folder = sandboxesFolder(env, homeDir);
  const {
    ended: jails,
    left,
    wasForced,
  } = await endAll({
    jailBinary: realpathSync(nativeBinary("ak-jail")),
    mark: scope === "user" ? null : stateMark(journalFolder(env, homeDir)),
    holders: () => runningSupervisors(folder),
  });
  const ended = jails + (await endOnEngines(invocation, scope));
  if (wasForced) await clearUp(invocation);
  if (left.length > 0) {
    throw new AgentKernelError("internal", `${left.length} sandboxes could not be ended: process ${left.join(", ")}`, {
      hint: "they may be stuck in the kernel; look at them with ps",
    });
  }
  return ended;
}

/** An engine that is not there, or does not answer, runs nothing of ours that could be ended. */
async function endOnEngines({ env, homeDir }: Invocation, scope: KillScope): Promise<number> {
  const folder = engineFolder(env, homeDir);
  const within = scope === "user" ? null : { folder, sandboxes: sandboxesFolder(env, homeDir) };
  const ended = (["docker", "podman"] as const).map(async (kind) => {
    const { available, socket } = await probeEngine(kind, { ...env, HOME: homeDir });
    return available && socket !== null ? await endAllContainers(new EngineClient(socket), within) : 0;
  });
  const counts = await Promise.all([...ended, endOnApple(env, scope === "user" ? null : folder)]);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A service that does not run has no machines either. */
async function endOnApple(env: Invocation["env"], folder: string | null): Promise<number> {
  const program = process.platform === "darwin" ? containerPath(env) : null;
  if (program === null) return 0;
  const cli = new ContainerCli(program);
  const answers = await cli.ask(["system", "status"]).then(
    () => true,
    () => false,
  );
  return answers ? await endAllOnApple(cli, folder) : 0;
}

/** After supervisors that could not do it themselves. */
async function clearUp(invocation: Invocation): Promise<void> {
  const folder = sandboxesFolder(invocation.env, invocation.homeDir);
  const { kept } = openBackend(invocation);
  const names = await readdir(folder).catch(() => []);
  await Promise.all(
    names.filter(isSandboxName).map(async (name) => {
      // Nothing runs there any more, so this only clears up; what fails is done by whoever starts it next.
      const found = await kept?.adopt(join(folder, name, "jail")).catch(() => null);
      found?.release();
    }),
  );
}
