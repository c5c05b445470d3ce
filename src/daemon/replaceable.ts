/** Which daemons may make room for another: those in the background, which nobody watches and nothing starts again. */
import { buildId } from "../core/build-id.js";
import { AgentKernelError } from "../core/errors.js";
import type { DaemonStatus } from "./status.js";

type Running = Pick<DaemonStatus, "pid" | "build" | "background" | "service" | "url">;

/** `then`: what the user does once that one has ended. */
export function refuseUnlessReplaceable(found: Running, then: "restart" | "start this" = "restart"): void {
  if (found.background) return;
  const { pid, service } = found;
  // One of an older build says nothing of it.
  const url = found.url ?? null;
  const where = `process ${pid}${url === null ? "" : `, ${url}`}`;
  const build = found.build === buildId() ? "" : " of another build";
  const what = url === null ? `a daemon${build}` : `agentkernel serve${build}`;
  if (service !== null) {
    throw new AgentKernelError("conflict", `${what} is up (${where}), run by ${service}`, {
      hint: then === "restart" ? `restart it: ${restartOf(service)}` : `end it first: ${stopOf(service)}`,
    });
  }
  const again = then === "restart" ? "then start it again" : "then start this one";
  throw new AgentKernelError("conflict", `${what} is up in the foreground (${where})`, {
    hint: `end it where it runs (Ctrl-C) or with agentkernel daemon stop, ${again}`,
  });
}

function restartOf(service: string): string {
  return isSystemd(service) ? `systemctl --user restart ${service}` : `launchctl kickstart -k gui/$(id -u)/${service}`;
}

function stopOf(service: string): string {
  return isSystemd(service) ? `systemctl --user stop ${service}` : `launchctl kill TERM gui/$(id -u)/${service}`;
}

function isSystemd(service: string): boolean {
  return service.endsWith(".service");
}
