/** `sandbox_list`: the sandboxes that the caller may see. */
import { isAdmin } from "../../api/auth/caller.js";
import { answerObject, field } from "../../api/schema/object-shape.js";
import { list } from "../../api/schema/shapes.js";
import { isInReach } from "../reach.js";
import { namedAnswer, sandboxAnswer, sandboxLine, sessionAnswer } from "../sandbox-answer.js";
import { defineTool } from "../tool.js";

export const sandboxList = defineTool({
  name: "sandbox_list",
  title: "List sandboxes",
  description: "Lists the sandboxes of this session and those of its project that stay, with their states.",
  effects: { readOnly: true },
  scope: ["read", "sandboxes", "run"],
  input: {},
  output: answerObject({ sandboxes: field(list(sandboxAnswer), "This session's first, then by name.") }),
  call: async (_, { host, sessions }) => {
    const own = sessions.list().map(([name, sandbox]) => sessionAnswer(name, sandbox, host.redact));
    const { caller } = host;
    const mayList = isAdmin(caller) || caller.scopes.includes("read") || caller.scopes.includes("sandboxes");
    const all = mayList ? (host.sandboxes?.list() ?? []) : [];
    const seen = all.filter((sandbox) => isInReach(sandbox, host));
    const sandboxes = [...own, ...(await Promise.all(seen.map((sandbox) => namedAnswer(sandbox, host.redact))))];
    const text = sandboxes.length === 0 ? "There are no sandboxes." : sandboxes.map(sandboxLine).join("\n");
    return { text, data: { sandboxes } };
  },
});
