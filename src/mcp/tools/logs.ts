/** `sandbox_logs`: the output of commands that run in the background. */
import { execId, sandboxName } from "../../api/operations/fields.js";
import { logAnswer } from "../../api/operations/watching.js";
import { logOf } from "../../api/resources/command-logs.js";
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { list, whole } from "../../api/schema/shapes.js";
import { named } from "../reach.js";
import { defineTool } from "../tool.js";

const USUAL_LINES = 100;

export const sandboxLogs = defineTool({
  name: "sandbox_logs",
  title: "Read the output of background commands",
  description:
    "The last lines of what commands have written that sandbox_exec started in the background, and how they ended.",
  effects: { readOnly: true },
  scope: ["read", "sandboxes"],
  input: {
    name: field(sandboxName, "Of the sandbox.", "work"),
    exec: optional(execId, "Only of this command.", "x1f0c2a9b"),
    limit: optional(whole({ min: 1, max: 10_000 }), `The last so many lines of each (${USUAL_LINES}).`),
  },
  output: answerObject({ execs: field(list(logAnswer), "Oldest first.") }),
  call: async ({ name, exec, limit = USUAL_LINES }, call) => {
    const sandbox = named(name, call, ["read", "sandboxes"]);
    const wanted = sandbox.execs().filter(({ detached, id }) => detached && (exec === undefined || id === exec));
    const execs = [];
    for (const info of wanted) execs.push(await logOf(sandbox, info, { tail: limit }, call.signal));
    const text = execs.map((one) => {
      const end =
        one.state === "running" ? "runs" : `${one.state}${one.exit_code === null ? "" : ` (${one.exit_code})`}`;
      return `${one.exec} ${one.command.join(" ")}: ${end}\n${one.stdout}${one.stderr}`;
    });
    return { text: text.length === 0 ? "No background command's output was kept." : text.join("\n"), data: { execs } };
  },
});
