/** A unit of systemd's user manager. */
import { AgentKernelError } from "../core/errors.js";

/** By this line a file is known to be ours. */
export const OWN_MARK = "Written by agentkernel setup";

interface UnitOptions {
  readonly description: string;
  readonly argv: readonly string[];
  readonly variables: readonly (readonly [string, string])[];
  /** Units that cannot run beside this one: starting it ends them. */
  readonly insteadOf: readonly string[];
}

/**
 * Nothing here may set `no_new_privs` (most of systemd's own sandboxing does in a user manager) or another user
 * namespace: sandboxes need newuidmap, which has rights of its own, and namespaces.
 */
export function systemdUnit({ description, argv, variables, insteadOf }: UnitOptions): string {
  return [
    `# ${OWN_MARK}; what it would change is shown first.`,
    "[Unit]",
    `Description=${description}`,
    `Conflicts=${insteadOf.join(" ")}`,
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${argv.map((word) => quoted(word)).join(" ")}`,
    "ExecReload=/bin/kill -HUP $MAINPID",
    ...variables.map(([name, value]) => `Environment=${quoted(`${name}=${value}`, false)}`),
    "Restart=on-failure",
    "RestartSec=2",
    "TimeoutStopSec=30",
    "UMask=0077",
    "# Sandboxes that stay outlive the daemon, and one that runs out of memory is no reason to end it.",
    "KillMode=process",
    "OOMPolicy=continue",
    "# Limits of sandboxes are cgroups below this one.",
    "Delegate=cpu memory pids",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** Systemd reads escapes in quotes, `%` as a specifier, and in commands `$` as a variable. */
function quoted(word: string, isCommand = true): string {
  if (/[\p{Cc}]/u.test(word)) {
    throw new AgentKernelError("invalid_argument", `a unit cannot name ${JSON.stringify(word)}`, {
      hint: "it has control characters: install agentkernel under a plain path",
    });
  }
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${isCommand ? escaped.replaceAll("$", "$$$$") : escaped}"`;
}
