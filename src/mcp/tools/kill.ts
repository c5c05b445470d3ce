/** `sandbox_kill`: ends one command that runs in the background. */
import { execId, sandboxName } from "../../api/operations/fields.js";
import { answerObject, field } from "../../api/schema/object-shape.js";
import { text } from "../../api/schema/shapes.js";
import { endCommand } from "../../runtime/sandboxes/end-command.js";
import { named } from "../reach.js";
import { defineTool } from "../tool.js";

export const sandboxKill = defineTool({
  name: "sandbox_kill",
  title: "End a background command",
  description: "Ends one command of a sandbox with everything that it started. What it wrote stays in sandbox_logs.",
  effects: { readOnly: false, destructive: true },
  scope: ["sandboxes"],
  input: {
    name: field(sandboxName, "Of the sandbox.", "work"),
    exec: field(execId, "The command, as sandbox_exec and sandbox_logs name it.", "x1f0c2a9b"),
  },
  output: answerObject({ exec: field(text(), "The command."), state: field(text(), "How it is known to have ended.") }),
  call: async ({ name, exec }, call) => {
    const { id, state } = await endCommand(named(name, call), exec);
    return { text: `${id} ${state}`, data: { exec: id, state } };
  },
});
