/** What a named sandbox changed in its copy of a project, and taking it over. */
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, list, nullable, text, type ValueOf } from "../schema/shapes.js";
import { changes, count } from "./answers.js";
import { answer, enveloped, operation } from "./operation.js";
import { namedErrors } from "./sandboxes.js";

const tag = "sandboxes";
const projectPath = text({ minLength: 1, maxLength: 4096 });

const change = named(
  "Change",
  answerObject({
    path: field(text(), "Relative to the project."),
    change: field(choice(["added", "modified", "deleted", "renamed"]), "What was done to it."),
    renamed_from: field(nullable(text()), "Its name before, where it was renamed."),
    type: field(choice(["file", "symlink", "dir", "other"]), "What it is; of what was deleted, what it was."),
    size_bytes: field(nullable(count), "Of its content now; null where it was deleted."),
    conflict: field(nullable(text()), "What the host did to it meanwhile, for which it is not applied."),
    refused: field(nullable(text()), "Why it is never applied."),
    review: field(flag(), "It steers what the user runs later, and is applied only after a yes to it."),
  }),
);
export type ChangeAnswer = ValueOf<typeof change>;

export const diff = named(
  "Diff",
  answerObject({
    changes: field(list(change), "Sorted by path."),
    truncated: field(flag(), "There are more than are listed."),
  }),
);
export type DiffAnswer = ValueOf<typeof diff>;

export const diffSandbox = operation({
  id: "diffSandbox",
  method: "GET",
  path: "/sandboxes/{name}/diff",
  tag,
  summary: "What a sandbox changed in the project",
  scope: ["read", "sandboxes"],
  query: object({
    format: optional(choice(["list", "patch"]), "A list (default), or a patch as `git apply` takes it."),
    path: optional(projectPath, "Only this, and what is below it (all)."),
  }),
  answers: [
    {
      status: 200,
      help: "A list, or with `format=patch` a patch. What cannot be in a patch is only in the list.",
      content: [enveloped(diff), { type: "text/x-diff", schema: { type: "string" } }],
    },
  ],
  errors: [...namedErrors, "unsupported"],
});

const applyRequest = named(
  "ApplyRequest",
  object({
    paths: optional(list(projectPath, { minItems: 1 }), "Only these, and what is below them (all)."),
    force: optional(flag(), "Take the sandbox's version where the host changed the same; needs `paths` (false)."),
    yes_to: optional(
      list(projectPath, { minItems: 1 }),
      "Also what waits for a review at or below these paths, or `all` (none).",
    ),
    dry_run: optional(flag(), "Say what would be done, and do nothing (false)."),
  }),
);

export const applySandbox = operation({
  id: "applySandbox",
  method: "POST",
  path: "/sandboxes/{name}/apply",
  tag,
  summary: "Take a sandbox's changes over into the project on the host",
  help: "Only for the user of the same machine, or an admin key. What the host changed meanwhile is left as it is, and named in `conflicts`.",
  scope: ["sandboxes"],
  body: applyRequest,
  isBodyOptional: true,
  answers: [answer(200, "What was done.", changes)],
  errors: [...namedErrors, "unsupported", "unsupported_media_type"],
});
