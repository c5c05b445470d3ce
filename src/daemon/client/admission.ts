/**
 * Whether the daemon serves a command line. It must do exactly what the command line would do by itself, only faster;
 * where it cannot, the client is told to do it alone.
 */
import { isAgentKernelError } from "../../core/errors.js";
import type { Commands } from "./commands.js";
import type { ClientStart } from "./start.js";

/** Null where it is served, else why not. */
export async function refusalOf(
  start: ClientStart,
  ownPlace: string,
  commands: Pick<Commands, "servedBy">,
): Promise<string | null> {
  if (start.place !== ownPlace) return "the client lives in other namespaces, or under another root";
  // What is looked for then is told by the processes themselves, on stderr.
  const debugging = start.env.AGENTKERNEL_DEBUG === "1" ? "faults are looked for in the command line itself" : null;
  const [first] = start.words;
  if (first === undefined || first.startsWith("-")) return debugging;
  try {
    const { verb, by } = await commands.servedBy(start.words);
    if (by === "daemon") return null;
    return by === "own process" ? `${verb} has a process of its own` : debugging;
  } catch (error) {
    // Words that make no sense are answered as everywhere.
    if (isAgentKernelError(error)) return debugging;
    throw error;
  }
}
