/** From the words of the command line to the verb that serves them, and from its errors to an exit status. */
import { AgentKernelError } from "../core/errors.js";
import { version } from "../core/version.js";
import type { Invocation } from "../invocation/index.js";
import { writeOut } from "./output.js";
import { understand } from "./understand.js";
import { familyOf } from "./verbs.js";

/** Returns the exit status; rejects never. */
export async function dispatch(words: readonly string[], invocation: Invocation): Promise<number> {
  let json = false;
  try {
    const [first] = words;
    if (first === "--version" || first === "-V") return await writeOut(invocation, `agentkernel ${version}\n`);
    if (first === undefined || first === "--help" || first === "-h") {
      return await writeOut(invocation, (await import("./help.js")).overviewHelp());
    }
    const family = words[1] === "--help" || words[1] === "-h" ? familyOf(first) : [];
    if (family.length > 0) return await writeOut(invocation, (await import("./help.js")).familyHelp(family));
    refuseSetting(invocation.env);
    const { verb, parsed } = understand(words);
    json = parsed.flags.has("json");
    if (parsed.flags.has("help")) return await writeOut(invocation, (await import("./help.js")).verbHelp(verb));
    if (parsed.problem) throw parsed.problem;
    const loaded = verb.daemon === "required" ? null : await verb.load();
    const needsDaemon = loaded === null || loaded.needsDaemon?.(parsed) === true;
    if (needsDaemon && invocation.resident === null) {
      return await (await import("../daemon/through-daemon.js")).throughDaemon(words, verb.name, invocation);
    }
    return await (loaded ?? (await verb.load())).execute(parsed, invocation);
  } catch (error) {
    const { reportError } = await import("./errors.js");
    // Where not even the JSON of the error can be written, stderr is told instead.
    return await reportError(invocation, error, { json }).catch((second: unknown) =>
      reportError(invocation, second, { json: false }),
    );
  }
}

/** A word that means nothing must not pass for the one that it was meant to be. */
function refuseSetting({ AGENTKERNEL_DAEMON: setting = "" }: Invocation["env"]): void {
  if (setting === "" || setting === "off" || setting === "on") return;
  throw new AgentKernelError("invalid_argument", `AGENTKERNEL_DAEMON: "${setting}" is neither on nor off`, {
    hint: "off does without a daemon; leave the variable out to use one that is up",
  });
}
