/** From what `doctor` found to commands that repair it, as a person would type them. Pure but for `machineFacts`. */
import { readFileSync } from "node:fs";
import { account, userId } from "../core/account.js";
import { nativeBinary } from "../core/native-binary.js";
import type { Check } from "../doctor/index.js";
import { installProfile } from "./apparmor-profile.js";

export interface MachineFacts {
  /** `ID` and `ID_LIKE` of /etc/os-release. */
  readonly systems: readonly string[];
  /** Null for a user id without an entry in the list of accounts, to which no range can be assigned. */
  readonly userName: string | null;
  readonly isRoot: boolean;
  /** Paths of our programs that make user namespaces. */
  readonly namespaceMakers: readonly string[];
}

export interface Remedy {
  readonly layer: Check["name"];
  /** What is missing, as `doctor` says it. */
  readonly detail: string;
  readonly nextStep: string;
  /** Lines for a shell of root's; empty where no command repairs it. */
  readonly commands: readonly string[];
}

const SYSCTL_FILE = "/etc/sysctl.d/60-agentkernel.conf";
const MODULES_FILE = "/etc/modules-load.d/agentkernel.conf";
const DELEGATE_FOLDER = "/etc/systemd/system/user@.service.d";

const installers: ReadonlyMap<string, string> = new Map([
  ["debian", "apt-get install -y uidmap"],
  ["ubuntu", "apt-get install -y uidmap"],
  ["fedora", "dnf install -y shadow-utils"],
  ["rhel", "dnf install -y shadow-utils"],
  ["suse", "zypper --non-interactive install shadow"],
  ["arch", "pacman -S --noconfirm shadow"],
  ["alpine", "apk add shadow-uidmap"],
]);

/** One for each check that fails, in the order of the checks. */
export function remediesFor(checks: readonly Check[], facts: MachineFacts): readonly Remedy[] {
  return checks
    .filter(({ state, nextStep }) => state === "fails" && nextStep !== null)
    .map(({ name, detail, nextStep }) => ({
      layer: name,
      detail,
      nextStep: nextStep ?? "",
      commands: commandsFor(name, nextStep ?? "", facts),
    }));
}

/** Those that the same commands repair, together; in the order of the first of each. */
export function sameRepair(remedies: readonly Remedy[]): readonly (readonly [Remedy, ...Remedy[]])[] {
  const groups = new Map<string, [Remedy, ...Remedy[]]>();
  for (const remedy of remedies) {
    const key = remedy.commands.length === 0 ? remedy.layer : remedy.commands.join("\n");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [remedy]);
    else group.push(remedy);
  }
  return [...groups.values()];
}

function commandsFor(layer: Check["name"], nextStep: string, facts: MachineFacts): string[] {
  const { systems, userName, isRoot } = facts;
  if (nextStep.startsWith("AppArmor restricts user namespaces")) return installProfile(facts.namespaceMakers);
  const [, setting] = /`sysctl -w ([a-z_.]+=\d+)`/.exec(nextStep) ?? [];
  if (setting !== undefined) return [`sysctl -w ${setting}`, `echo '${setting}' >> ${SYSCTL_FILE}`];
  const [, modules] = /`modprobe (?:-a )?([a-z0-9_ ]+)`/.exec(nextStep) ?? [];
  if (modules !== undefined) {
    return [`modprobe -a ${modules}`, `printf '%s\\n' ${modules} >> ${MODULES_FILE}`];
  }
  if (layer === "subids" && nextStep.startsWith("install newuidmap")) {
    const known = systems.map((system) => installers.get(system)).find((line) => line !== undefined);
    return known === undefined ? [] : [known];
  }
  const [, ranges] = /`usermod ([-A-Za-z0-9 ]+) <user>`/.exec(nextStep) ?? [];
  if (ranges !== undefined) return userName === null ? [] : [`usermod ${ranges} ${quoted(userName)}`];
  if (layer === "cgroup" && !isRoot && nextStep.includes("Delegate=cpu memory pids")) {
    return [
      `mkdir -p ${DELEGATE_FOLDER}`,
      `printf '[Service]\\nDelegate=cpu memory pids\\n' > ${DELEGATE_FOLDER}/agentkernel.conf`,
      "systemctl daemon-reload",
    ];
  }
  return [];
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function machineFacts(): MachineFacts {
  const namespaceMakers = (["ak-jail", "ak-unpack", "ak-probe"] as const).map(nativeBinary);
  const systems = systemsIn(osRelease());
  return { systems, userName: account()?.name ?? null, isRoot: userId() === 0, namespaceMakers };
}

export function systemsIn(text: string): readonly string[] {
  const value = (key: string) => new RegExp(`^${key}="?([^"\\n]*)"?$`, "m").exec(text)?.[1] ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(/\s+/).filter((word) => word !== "");
}

function osRelease(): string {
  try {
    return readFileSync("/etc/os-release", "utf8");
  } catch {
    // Then no package manager is known, and the next step is told in words.
    return "";
  }
}
