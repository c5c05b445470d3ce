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

/**
 * Of glibc's heap, which reads them when the process starts. By default each thread has a part of its own, and a limit that
 * rises keeps what is free: ten megabytes after a minute of mixed load, none of it in use.
 */
const HEAP_SETTINGS = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: String(1 << 20) };

/** Adds what the process itself reads at its start. */
export function withHeapSettings(env: Readonly<Record<string, string>>): Record<string, string> {
  return { ...env, ...HEAP_SETTINGS };
}

/** They have been read, and are nothing of what the user has in their environment. */
export function forgetHeapSettings(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(HEAP_SETTINGS)) {
    if (env[name] === value) delete env[name];
  }
}

export function daemonEnvironment(env: HostEnvironment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const isNeeded = NEEDED.has(name) || (NEEDED_KINDS.test(name) && !NOT_PASSED_ON.has(name));
    if (isNeeded && value !== undefined) kept[name] = value;
  }
  return kept;
}
