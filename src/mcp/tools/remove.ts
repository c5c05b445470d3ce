/** `sandbox_remove`: a sandbox with everything in it. */
import { sandboxName } from "../../api/operations/fields.js";
import { answerObject, field } from "../../api/schema/object-shape.js";
import { list, text } from "../../api/schema/shapes.js";
import { carriedNotes } from "../output/notes.js";
import { reach, sandboxesOf } from "../reach.js";
import { type Call, defineTool } from "../tool.js";

export const sandboxRemove = defineTool({
  name: "sandbox_remove",
  title: "Remove a sandbox",
  description:
    "Ends everything that runs in a sandbox and removes it with all that it has written. This cannot be undone.",
  effects: { readOnly: false, destructive: true, idempotent: false },
  scope: ["sandboxes", "run"],
  input: { name: field(sandboxName, "Of the sandbox.", "work") },
  output: answerObject({
    name: field(text(), "Of the sandbox that is gone."),
    notes: field(list(text()), "What the caller should know."),
  }),
  call: async ({ name }, call) => {
    const notes = await remove(name, call);
    return { text: [`${name} is removed.`, ...notes].join("\n"), data: { name, notes } };
  },
});

async function remove(name: string, call: Call): Promise<readonly string[]> {
  const reached = reach(name, call);
  if (reached.kind === "session") {
    const { carried } = await call.sessions.remove(name);
    return carried === null ? [] : carriedNotes(carried);
  }
  await sandboxesOf(call.host).remove(name, { force: true });
  return [];
}
