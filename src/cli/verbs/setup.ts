/** `setup`: the machine, the file of a service, or the end of it all. Shows before it does. */
import { existsSync } from "node:fs";
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import {
  type FileChange,
  makeChange,
  ownProgram,
  plannedRemoval,
  plannedWrite,
  rivalsOf,
  type ServiceName,
  serviceFile,
  serviceNames,
} from "../../setup/index.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";
import { isAgreed } from "../setup/consent.js";
import { setUpMachine } from "../setup/machine.js";
import { setUpMicrovm } from "../setup/microvm.js";
import { changeText, serviceDoneText } from "../setup/text.js";
import { uninstall } from "../setup/uninstall.js";
import { verbs } from "../verbs.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const named = parsed.values.get("service")?.[0];
  const service = serviceNames.find((name) => name === named);
  if (parsed.flags.has("uninstall")) {
    const isAlone = !["service", "backend", "kernel"].some((name) => parsed.values.has(name));
    if (isAlone && !parsed.flags.has("remove")) return await uninstall(parsed, invocation);
    throw new AgentKernelError("invalid_argument", "--uninstall takes everything away, also services", {
      hint: "leave --service, --backend and --remove out, or leave --uninstall out to take one service away",
    });
  }
  if (parsed.flags.has("keep-data")) {
    throw new AgentKernelError("invalid_argument", "--keep-data belongs to --uninstall", {
      hint: "write agentkernel setup --uninstall --keep-data",
    });
  }
  if (parsed.values.has("backend")) {
    if (service === undefined && !parsed.flags.has("remove")) return await setUpMicrovm(parsed, invocation);
    throw new AgentKernelError("invalid_argument", "--backend and --service are two different things to do", {
      hint: "run setup once for each",
    });
  }
  if (parsed.values.has("kernel")) {
    throw new AgentKernelError("invalid_argument", "--kernel belongs to --backend microvm", {
      hint: "write agentkernel setup --backend microvm --kernel FOLDER",
    });
  }
  if (service !== undefined) return await setUpService(service, parsed, invocation);
  if (parsed.flags.has("remove")) {
    throw new AgentKernelError("invalid_argument", "--remove: there is no service named to take away", {
      hint: "name it: agentkernel setup --service daemon --remove",
    });
  }
  return await setUpMachine(parsed, invocation);
}

async function setUpService(service: ServiceName, { flags }: ParsedOptions, invocation: Invocation): Promise<number> {
  const platform = process.platform === "darwin" ? "darwin" : "linux";
  const { env, homeDir } = invocation;
  if (!verbs.some(({ name }) => name.split(" ", 1)[0] === service)) {
    throw new AgentKernelError("unsupported", `--service ${service}: this version has no verb ${service}`, {
      hint: "agentkernel setup --service daemon installs the daemon",
    });
  }
  const options = { platform, program: ownProgram(), env, homeDir } as const;
  const file = serviceFile({ ...options, service });
  const rivals = rivalsOf(service).map((other) => serviceFile({ ...options, service: other }));
  const removes = flags.has("remove");
  const change = removes ? plannedRemoval(file.path) : plannedWrite(file.path, file.text);
  const ended = rivals.filter(({ path }) => existsSync(path)).flatMap(({ disable }) => disable);
  const shown = removes ? file.disable : [...ended, ...file.enable];
  const isJson = flags.has("json");
  if (!isJson) await writeOut(invocation, changeText(change));
  const isDone = await carryOut(change, flags, invocation);
  if (isJson) {
    const { path, kind } = change;
    const data = { path, change: kind, done: isDone, text: file.text, commands: [...shown] };
    return await writeJson(invocation, { success: true, data });
  }
  return await writeOut(invocation, serviceDoneText(change, { isDone, commands: shown }));
}

async function carryOut(change: FileChange, flags: ReadonlySet<string>, invocation: Invocation): Promise<boolean> {
  if (change.kind === "none" || flags.has("print")) return false;
  if (!flags.has("yes")) {
    if (flags.has("json")) return false;
    const verb = change.kind === "remove" ? "Remove" : "Write";
    if (!(await isAgreed(invocation, `${verb} this file?`))) return false;
  }
  makeChange(change);
  return true;
}
