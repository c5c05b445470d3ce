/** Commands in named sandboxes. */
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, text, type ValueOf, whole } from "../schema/shapes.js";
import { outputFields } from "./answers.js";
import { commandFields, env } from "./fields.js";
import { answer, commandEvents, eventStream, operation } from "./operation.js";
import { commandErrors } from "./runs.js";
import { namedErrors } from "./sandboxes.js";

const tag = "exec";
const errors = [
  ...namedErrors,
  ...commandErrors,
  "policy_denied",
  "resource_exhausted",
  "guest_protocol",
  "audit_unwritable",
  "unsupported_media_type",
] as const;

const execFields = {
  ...commandFields,
  env: optional(env, "Variables for this command."),
  user: optional(text({ minLength: 1, maxLength: 128 }), "Who it runs as: name, uid, name:group or uid:gid."),
};

/** One that is listened to is not left to itself. */
const execStreamRequest = named("ExecStreamRequest", object(execFields));
export type ExecStreamBody = ValueOf<typeof execStreamRequest>;

export const execRequest = named(
  "ExecRequest",
  object({
    ...execFields,
    detach: optional(flag(), "Answer at once and let it run on; its output is at …/logs (false)."),
  }),
);

const execResult = named(
  "ExecResult",
  answerObject({ ...outputFields, exec: field(text(), "The command, among all of this sandbox.") }),
);
export type ExecAnswer = ValueOf<typeof execResult>;

export const detached = named(
  "DetachedExec",
  answerObject({
    exec: field(text(), "By which its output and end are found."),
    sandbox: field(text(), "The sandbox that it runs in."),
  }),
);

const killed = named(
  "KilledExec",
  answerObject({
    exec: field(text(), "The command."),
    sandbox: field(text(), "The sandbox that it ran in."),
    state: field(choice(["ended", "failed", "lost"]), "`failed`: it never ran; `lost`: nobody saw how it ended."),
  }),
);

export const exec = operation({
  id: "exec",
  method: "POST",
  path: "/sandboxes/{name}/exec",
  tag,
  summary: "Run a command in a sandbox",
  help: "It ends when the caller hangs up, unless it is detached.",
  scope: ["sandboxes"],
  body: execRequest,
  answers: [answer(200, "The command has ended.", execResult), answer(202, "It runs on (`detach`).", detached)],
  errors,
});

export const execStream = operation({
  id: "execStream",
  method: "POST",
  path: "/sandboxes/{name}/exec/stream",
  tag,
  summary: "Run a command in a sandbox, and hear it while it runs",
  help: "Events as of /run/stream.",
  scope: ["sandboxes"],
  body: execStreamRequest,
  answers: [eventStream("Events, from the command's start to its end.", commandEvents)],
  errors,
});

export const killExec = operation({
  id: "killExec",
  method: "DELETE",
  path: "/sandboxes/{name}/execs/{exec}",
  tag,
  summary: "End one command of a sandbox, with everything that it started",
  help: "Also one that is detached. What it wrote stays at …/logs.",
  scope: ["sandboxes"],
  answers: [answer(200, "It is over.", killed)],
  errors: [...namedErrors, "conflict"],
});

export const attach = operation({
  id: "attach",
  method: "GET",
  path: "/sandboxes/{name}/attach",
  tag,
  summary: "A terminal in a sandbox, over a WebSocket",
  help: 'Binary messages are what is typed and what is shown. Text messages are JSON: `{"type": "resize", "cols": 80, "rows": 24}` from the caller, `{"type": "exit", "code": 0}` from the server at the end.',
  scope: ["sandboxes"],
  query: object({
    cols: optional(whole({ min: 1, max: 1000 }), "Width of the terminal (80)."),
    rows: optional(whole({ min: 1, max: 1000 }), "Height of the terminal (24)."),
    command: optional(text({ minLength: 1, maxLength: 4096 }), "A program to run instead of a shell."),
  }),
  answers: [{ status: 101, help: "The connection is a WebSocket from now on.", content: [] }],
  errors: [...errors, "unsupported"],
});
