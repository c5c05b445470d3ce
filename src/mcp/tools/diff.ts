/** `sandbox_diff`: what a sandbox changed in its copy of the project. */

import { diff } from "../../api/operations/changes.js";
import { sandboxName } from "../../api/operations/fields.js";
import { changesSeen } from "../../api/resources/changes.js";
import { field } from "../../api/schema/object-shape.js";
import { named } from "../reach.js";
import { defineTool } from "../tool.js";

export const sandboxDiff = defineTool({
  name: "sandbox_diff",
  title: "List what a sandbox changed",
  description:
    "Lists what commands have changed in a sandbox's copy of the project. The user's own files are as they were: only the user carries changes over.",
  effects: { readOnly: true },
  scope: ["read", "sandboxes"],
  input: { name: field(sandboxName, "Of the sandbox.", "work") },
  output: diff,
  call: async ({ name }, call) => {
    const { host, signal } = call;
    const sandbox = named(name, call, ["read", "sandboxes"]);
    const data = await host.places.at(host.caller, signal, () => changesSeen(sandbox, [], signal));
    const lines = data.changes.map(({ change, path }) => `${change} ${path}`);
    const more = data.truncated ? ["and more"] : [];
    return { text: lines.length === 0 ? "Nothing was changed." : [...lines, ...more].join("\n"), data };
  },
});
