/** The file by which the machine's service manager runs a part of agentkernel: where it lies, what is in it. */
import { isAbsolute, join } from "node:path";
import { shellWord } from "../core/shell-word.js";
import type { HostEnvironment } from "../core/state-folders.js";
import { launchdPlist } from "./launchd-plist.js";
import { systemdUnit } from "./systemd-unit.js";
import { type ServiceName, serviceNames } from "./unit-names.js";

interface ServiceFile {
  readonly path: string;
  readonly text: string;
  /** What to type once it is there, and before it is taken away. */
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

interface ServiceOptions {
  readonly service: ServiceName;
  readonly platform: "linux" | "darwin";
  /** The program and its first words, absolute paths. */
  readonly program: readonly string[];
  readonly env: HostEnvironment;
  readonly homeDir: string;
}

const words: Readonly<Record<ServiceName, readonly string[]>> = { daemon: ["daemon", "run"], serve: ["serve"] };
const descriptions: Readonly<Record<ServiceName, string>> = {
  daemon: "agentkernel: sandboxes for coding agents",
  serve: "agentkernel: HTTP API",
};

/** Where our files lie must be the same for the service and for command lines. */
const PASSED_ON = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] as const;

export function serviceFile(options: ServiceOptions): ServiceFile {
  const { service, platform, program, env, homeDir } = options;
  const argv = [...program, ...words[service]];
  const passed = PASSED_ON.flatMap((name) => {
    const value = env[name];
    return value !== undefined && isAbsolute(value) ? [[name, value] as const] : [];
  });
  if (platform === "darwin") {
    const label = `dev.agentkernel.${service}`;
    const path = join(homeDir, "Library", "LaunchAgents", `${label}.plist`);
    const variables = [["AGENTKERNEL_SERVICE", label] as const, ...passed];
    const logPath = join(homeDir, "Library", "Logs", `agentkernel-${service}.log`);
    return {
      path,
      text: launchdPlist({ label, argv, variables, logPath }),
      enable: [`launchctl bootstrap gui/$(id -u) ${shellWord(path)}`],
      disable: [`launchctl bootout gui/$(id -u)/${label}`],
    };
  }
  const unit = unitName(service);
  const { XDG_CONFIG_HOME: configured = "" } = env;
  const config = isAbsolute(configured) ? configured : join(homeDir, ".config");
  return {
    path: join(config, "systemd", "user", unit),
    text: systemdUnit({
      description: descriptions[service],
      argv,
      variables: [["AGENTKERNEL_SERVICE", unit], ...passed],
      insteadOf: rivalsOf(service).map(unitName),
    }),
    enable: ["systemctl --user daemon-reload", `systemctl --user enable --now ${unit}`],
    disable: [`systemctl --user disable --now ${unit}`],
  };
}

function unitName(service: ServiceName): string {
  return service === "daemon" ? "agentkernel.service" : `agentkernel-${service}.service`;
}

/** A user has one daemon, and `serve` is one that listens to more. */
export function rivalsOf(service: ServiceName): readonly ServiceName[] {
  return serviceNames.filter((other) => other !== service);
}
