/** The command line as a daemon serves it for its clients. */
import type { Commands } from "../daemon/client/commands.js";
import { dispatch } from "./dispatch.js";
import { understand } from "./understand.js";
import { isStanding } from "./verbs.js";

export const daemonCommands: Commands = {
  dispatch,
  isStanding,
  async servedBy(words) {
    const { verb, parsed } = understand(words);
    const { name } = verb;
    if (verb.apart === true) return { verb: name, by: "own process" };
    const { runsApart, needsDaemon } = await verb.load();
    // No other process could do it.
    if (verb.daemon === "required" || needsDaemon?.(parsed) === true) return { verb: name, by: "daemon" };
    return { verb: name, by: runsApart?.(parsed) === true ? "own process" : "any" };
  },
  preload: () => Promise.all([import("./verbs/run.js"), import("./run/execute.js")]),
};
