/** The process around a daemon: its signals, its folder, its last words. */
import { isatty } from "node:tty";
import { compileLater } from "./compiler-settings.js";
import { forgetHeapVariables, keepHeapCompact } from "./heap-settings.js";
import { Daemon, type DaemonOptions } from "./index.js";
import type { Stay } from "./lifetime.js";
import { durationText } from "./status.js";

interface DaemonProcess extends DaemonOptions {
  /** Reads the configured stay anew. */
  readonly readStay: () => Promise<Stay>;
}

/** A whole daemon, in this process. Resolves when it has ended in good order. `onReady` is called when it listens. */
export async function runDaemon(options: DaemonProcess, onReady: (daemon: Daemon) => Promise<void>): Promise<void> {
  const { log } = options;
  forgetHeapVariables(process.env);
  keepHeapCompact();
  compileLater();
  const daemon = await Daemon.start(options);
  // Nobody's folder is kept from being removed, and a path that is not absolute is found out.
  process.chdir("/");
  // Whoever started it in the background does not listen any more; a warning of Node's must not be its end.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  let isAsked = false;
  // At a terminal it means that the terminal is gone.
  const hangup = isatty(2) ? (["SIGHUP"] as const) : [];
  if (hangup.length === 0) process.on("SIGHUP", () => void reread(daemon, options));
  for (const name of ["SIGTERM", "SIGINT", ...hangup] as const) {
    process.on(name, () => {
      if (isAsked) process.exit(1);
      isAsked = true;
      void daemon.stop(`by ${name}`);
    });
  }
  // Beside this listener no debugger of Node's is opened.
  process.on("SIGUSR1", () => log.say("by SIGUSR1: nothing"));
  const die = (error: unknown) => {
    log.say(`a fault of its own: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1);
  };
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
  await onReady(daemon);
  // So that the first command line waits for nothing.
  await options.commands.preload();
  await daemon.ended;
}

/** Every line of the log opens its file, so that one that was moved away is begun anew by the line that says so. */
async function reread(daemon: Daemon, { log, readStay }: DaemonProcess): Promise<void> {
  try {
    const stay = await readStay();
    // The user may have told one that was started on demand to stay.
    if (stay.onDemand === daemon.stay.onDemand) daemon.stayAs(stay);
    const { idleTimeoutMs } = daemon.stay;
    const until = idleTimeoutMs === null ? "until it is stopped" : `for ${durationText(idleTimeoutMs)} without work`;
    log.say(`by SIGHUP: the configuration was read again; it stays ${until}`);
  } catch (error) {
    log.say(`by SIGHUP: the configuration stays as it was: ${error instanceof Error ? error.message : String(error)}`);
  }
}
