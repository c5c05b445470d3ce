/** Snapshots of named sandboxes: files as they were at one moment and, of a machine that ran, its memory. */
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { flag, list, nullable, text, type ValueOf } from "../schema/shapes.js";
import { backend, bytesOrNull, imageUsed, time } from "./answers.js";
import { sandboxName } from "./fields.js";
import { answer, operation } from "./operation.js";
import { startErrors } from "./runs.js";
import { namedErrors, sandbox } from "./sandboxes.js";

const tag = "snapshots";
const whatIsKept =
  "Files are kept as they are at one moment; processes and memory only of a machine (microvm) that runs.";

export const snapshot = named(
  "Snapshot",
  answerObject({
    name: field(sandboxName, "How it is called."),
    sandbox: field(sandboxName, "The sandbox that it was made of, which may be gone."),
    backend: field(backend, "What isolates a sandbox that is made of it."),
    image: field(imageUsed, "What the files lie on."),
    dir: field(nullable(text()), "The folder of the host that the sandbox showed as /workspace."),
    created_at: field(time, "When it was made."),
    memory: field(flag(), "What ran goes on in a sandbox that is made of it."),
    size_bytes: field(bytesOrNull, "Of its files' contents; null where nothing can tell."),
  }),
  whatIsKept,
);
export type SnapshotAnswer = ValueOf<typeof snapshot>;

const memory = optional(flag(), "false: files alone, also where memory could be had (true).");

const snapshotRequest = named(
  "SnapshotRequest",
  object({
    name: optional(sandboxName, "How it will be called (the sandbox's name and the time).", "before-upgrade"),
    memory,
  }),
);

/** For a sandbox that begins as a copy. */
const copyRequest = named(
  "CopySandboxRequest",
  object({
    name: field(sandboxName, "How the new sandbox will be called.", "work2"),
    start: optional(flag(), "false: it is made and not started (true)."),
    memory,
  }),
);
export type CopyBody = ValueOf<typeof copyRequest>;

export const snapshotSandbox = operation({
  id: "snapshotSandbox",
  method: "POST",
  path: "/sandboxes/{name}/snapshot",
  tag,
  summary: "Keep what a sandbox has written",
  help: `${whatIsKept} A sandbox that runs is frozen meanwhile, and goes on.`,
  scope: ["sandboxes"],
  body: snapshotRequest,
  isBodyOptional: true,
  answers: [answer(201, "It is kept.", snapshot)],
  errors: [...namedErrors, "unsupported", "forbidden", "unsupported_media_type"],
});

export const forkSandbox = operation({
  id: "forkSandbox",
  method: "POST",
  path: "/sandboxes/{name}/fork",
  tag,
  summary: "Make a second sandbox of one, with everything that it has written",
  help: `${whatIsKept} Neither sees what the other writes from then on.`,
  scope: ["sandboxes"],
  body: copyRequest,
  answers: [answer(201, "There are two; the new one runs unless `start` was false.", sandbox)],
  errors: [...new Set([...namedErrors, ...startErrors, "unsupported" as const, "forbidden" as const])],
});

export const listSnapshots = operation({
  id: "listSnapshots",
  method: "GET",
  path: "/snapshots",
  tag,
  summary: "The snapshots that the caller may see",
  scope: ["read", "sandboxes"],
  answers: [
    answer(
      200,
      "Sorted by name.",
      named("SnapshotList", answerObject({ snapshots: field(list(snapshot), "All of them.") })),
    ),
  ],
});

export const getSnapshot = operation({
  id: "getSnapshot",
  method: "GET",
  path: "/snapshots/{name}",
  tag,
  summary: "One snapshot",
  scope: ["read", "sandboxes"],
  answers: [answer(200, "As it was made.", snapshot)],
  errors: ["conflict", "method_not_allowed"],
});

const removedSnapshot = named(
  "RemovedSnapshot",
  answerObject({ name: field(text(), "Of the snapshot that is gone.") }),
);

export const removeSnapshot = operation({
  id: "removeSnapshot",
  method: "DELETE",
  path: "/snapshots/{name}",
  tag,
  summary: "Remove a snapshot; sandboxes that were made of it stay",
  scope: ["sandboxes"],
  answers: [answer(200, "It is gone.", removedSnapshot)],
  errors: ["conflict", "method_not_allowed"],
});

export const restoreSnapshot = operation({
  id: "restoreSnapshot",
  method: "POST",
  path: "/snapshots/{name}/restore",
  tag,
  summary: "Make a sandbox of a snapshot",
  scope: ["sandboxes"],
  body: copyRequest,
  answers: [answer(201, "It is there, and runs unless `start` was false.", sandbox)],
  errors: [...new Set([...startErrors, "conflict" as const, "unsupported" as const, "forbidden" as const])],
});
