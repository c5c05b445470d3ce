/** `sandbox_stop`: ends what runs in a sandbox that stays; its files are kept. */
import { sandboxName } from "../../api/operations/fields.js";
import { field } from "../../api/schema/object-shape.js";
import { AgentKernelError } from "../../core/errors.js";
import { reach } from "../reach.js";
import { namedAnswer, sandboxAnswer, sandboxLine } from "../sandbox-answer.js";
import { defineTool } from "../tool.js";

/** How long commands may take to end in order. */
const STOP_GRACE_MS = 2000;

export const sandboxStop = defineTool({
  name: "sandbox_stop",
  title: "Stop a sandbox",
  description:
    "Ends everything that runs in a sandbox that stays; its files are kept, and sandbox_start starts it again. A sandbox of this session keeps nothing: end it with sandbox_remove.",
  effects: { readOnly: false, destructive: true, idempotent: true },
  scope: ["sandboxes"],
  input: { name: field(sandboxName, "Of the sandbox.", "work") },
  output: sandboxAnswer,
  call: async ({ name }, call) => {
    const reached = reach(name, call);
    if (reached.kind === "session") {
      throw new AgentKernelError(
        "conflict",
        `the sandbox ${name} is this session's own and keeps nothing when it ends`,
        {
          hint: "end it with sandbox_remove, or make one with sandbox_create, which can be stopped and started",
          details: { field: "name" },
        },
      );
    }
    await reached.sandbox.stop({ graceMs: STOP_GRACE_MS });
    const data = await namedAnswer(reached.sandbox, call.host.redact);
    return { text: sandboxLine(data), data };
  },
});
