/** `sandbox_start`: a sandbox that stays and does not run. */
import { sandboxName } from "../../api/operations/fields.js";
import { field } from "../../api/schema/object-shape.js";
import { hostEnvFor, reach } from "../reach.js";
import { namedAnswer, sandboxAnswer, sandboxLine, sessionAnswer } from "../sandbox-answer.js";
import { defineTool } from "../tool.js";

export const sandboxStart = defineTool({
  name: "sandbox_start",
  title: "Start a sandbox",
  description: "Starts a sandbox that was stopped, with all that it had written. Does nothing where it runs.",
  effects: { readOnly: false, idempotent: true },
  scope: ["sandboxes"],
  input: { name: field(sandboxName, "Of the sandbox.", "work") },
  output: sandboxAnswer,
  call: async ({ name }, call) => {
    const { host, signal } = call;
    const reached = reach(name, call);
    if (reached.kind === "session") {
      const data = sessionAnswer(name, reached.sandbox, host.redact);
      return { text: sandboxLine(data), data };
    }
    const { sandbox } = reached;
    await host.places.at(host.caller, signal, () => sandbox.start({ hostEnv: hostEnvFor(host), signal }));
    const data = await namedAnswer(sandbox, host.redact);
    return { text: sandboxLine(data), data };
  },
});
