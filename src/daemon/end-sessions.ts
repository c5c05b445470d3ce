/** Ends the command lines that a daemon serves when it stops itself. */
import { constants } from "node:os";
import { within } from "../core/within.js";

/** How long running commands may take to end when the daemon does. */
export const STOP_GRACE_MS = 10_000;
/** Those that have not ended by then are told again, which leaves their commands no more time (`run --grace`). */
const SECOND_SIGNAL_MS = 8000;

interface Session {
  signal(signal: number): void;
}

/** `over`: when none of them is left. Settles then, or when the time is up. */
export async function endSessions(sessions: ReadonlySet<Session>, over: Promise<unknown>): Promise<void> {
  const tellAll = (): void => {
    for (const session of sessions) session.signal(constants.signals.SIGTERM);
  };
  tellAll();
  const again = setTimeout(tellAll, SECOND_SIGNAL_MS);
  await within(STOP_GRACE_MS, over, () => {}).finally(() => clearTimeout(again));
}
