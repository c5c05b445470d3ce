/**
 * Makes sure that a daemon of this build is up: leaves one alone that is, starts one where there is none, and has one of
 * another build make room. Any number of processes may do so at once, and end up with one daemon.
 */
import { buildId } from "../core/build-id.js";
import { AgentKernelError, isAgentKernelError } from "../core/errors.js";
import type { HostEnvironment } from "../core/state-folders.js";
import { askDaemon, isCutOff } from "./ask.js";
import { startInBackground } from "./background.js";
import { hasOwner, ownerChange } from "./coming-up.js";
import { ANOTHER_IS_UP, type HandOver } from "./index.js";
import type { Stay } from "./lifetime.js";
import { refuseUnlessReplaceable } from "./replaceable.js";
import type { DaemonPlace } from "./socket-place.js";
import { count, type DaemonStatus } from "./status.js";

/** For everything together: a daemon that ends, and one that starts. */
const PATIENCE_MS = 60_000;

interface Wanted {
  readonly place: DaemonPlace;
  readonly env: HostEnvironment;
  readonly stay: Stay;
  /** Null: where it usually is. */
  readonly logPath: string | null;
  /** Also one of this build makes room. */
  readonly anew?: boolean;
  /** Tells of what was done to a daemon that was up, in one line. */
  readonly say: (line: string) => Promise<void>;
}

interface Up {
  readonly status: DaemonStatus;
  /** Whether it was there before. */
  readonly wasUp: boolean;
}

export async function bringUp(wanted: Wanted): Promise<Up> {
  const { place, env, say } = wanted;
  let next = { stay: wanted.stay, logPath: wanted.logPath ?? place.logPath };
  let hasStarted = false;
  let isOld = wanted.anew ?? false;
  for (const until = Date.now() + PATIENCE_MS; Date.now() < until; ) {
    const found = await statusOf(place);
    if (found === null) {
      if (hasOwner(place)) await ownerChange(place, until - Date.now());
      else hasStarted = (await start({ env, ...next })) || hasStarted;
    } else if (found.stopping) {
      await ask(place, "POST", "/daemon/hand-over");
    } else if (found.build === buildId() && !isOld) {
      return { status: found, wasUp: !hasStarted };
    } else {
      refuseUnlessReplaceable(found);
      const made = (await ask(place, "POST", "/daemon/hand-over")) as HandOver | null;
      // Whoever started the one before wanted it so.
      if (!found.on_demand) next = stayOf(found, place);
      isOld = false;
      if (made !== null && made.pid === found.pid) await say(replacedText(found, made));
    }
  }
  throw new AgentKernelError("internal", `no daemon was up within ${PATIENCE_MS / 1000} s`, {
    hint: `its log may say why: ${place.logPath}`,
  });
}

/** For a daemon that a service manager runs: one in the background makes room for it. */
export async function makeRoom(place: DaemonPlace): Promise<void> {
  const found = await statusOf(place);
  if (found?.background === true) await ask(place, "POST", "/daemon/hand-over");
}

/** False where another process was faster. */
async function start(parts: Parameters<typeof startInBackground>[0]): Promise<boolean> {
  try {
    await startInBackground(parts);
    return true;
  } catch (error) {
    if (isAgentKernelError(error) && error.message.includes(ANOTHER_IS_UP)) return false;
    throw error;
  }
}

function stayOf(status: DaemonStatus, place: DaemonPlace): { readonly stay: Stay; readonly logPath: string } {
  const { on_demand: onDemand, idle_timeout_ms: idleTimeoutMs, log } = status;
  return { stay: { onDemand, idleTimeoutMs }, logPath: log ?? place.logPath };
}

function replacedText(found: DaemonStatus, { released, at_work: atWork }: HandOver): string {
  const which = found.build === buildId() ? "the daemon" : `the daemon of another build (version ${found.version})`;
  const kept = [
    ...(released > 0 ? [`${count(released, "sandbox")} ${released === 1 ? "goes" : "go"} on`] : []),
    ...(atWork > 0 ? [`it finishes ${count(atWork, "command line")}`] : []),
  ];
  return `${which} was replaced${kept.length === 0 ? "" : `; ${kept.join(", ")}`}`;
}

async function statusOf(place: DaemonPlace): Promise<DaemonStatus | null> {
  return (await ask(place, "GET", "/daemon")) as DaemonStatus | null;
}

/** One that ended while it was asked is none. */
async function ask(place: DaemonPlace, method: "GET" | "POST", path: string): Promise<unknown> {
  try {
    return await askDaemon(place, method, path);
  } catch (error) {
    if (isCutOff(error)) return null;
    throw error;
  }
}
