/**
 * The environment of a daemon in the background. Command lines bring their own, so it has only what the process itself
 * needs: secrets of the shell that happened to start it do not stay in it for days.
 */
import type { HostEnvironment } from "../core/state-folders.js";

/** Where engines listen: sandboxes that stay may be theirs. */
const ENGINES = ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST"];
const NEEDED = new Set([...ENGINES, "HOME", "LANG", "LOGNAME", "NODE_EXTRA_CA_CERTS", "PATH", "TMPDIR", "TZ", "USER"]);
const NEEDED_KINDS = /^(?:XDG_\w+_(?:DIR|HOME)|LC_\w+|SSL_CERT_(?:FILE|DIR)|AGENTKERNEL_\w+)$/;
/** About one command line, or about the process that starts the daemon. */
const NOT_PASSED_ON = new Set([
  "AGENTKERNEL_DAEMON",
  "AGENTKERNEL_DEBUG",
  "AGENTKERNEL_RELAY",
  "AGENTKERNEL_SERVICE",
  "AGENTKERNEL_STARTER",
]);

export function daemonEnvironment(env: HostEnvironment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const isNeeded = NEEDED.has(name) || (NEEDED_KINDS.test(name) && !NOT_PASSED_ON.has(name));
    if (isNeeded && value !== undefined) kept[name] = value;
  }
  return kept;
}
