/** What sandboxes did and do: output of detached commands, audit records, events. */
import { recordTypes } from "../../audit/events.js";
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, list, nullable, text, type ValueOf, whole } from "../schema/shapes.js";
import { count, time } from "./answers.js";
import { encoding } from "./fields.js";
import { answer, eventStream, operation } from "./operation.js";
import { namedErrors } from "./sandboxes.js";

const tag = "watching";

export const logAnswer = named(
  "ExecLog",
  answerObject({
    exec: field(text(), "The command, among all of this sandbox."),
    command: field(list(text()), "Its words."),
    state: field(
      choice(["running", "ended", "failed", "lost"]),
      "`failed`: it never ran; `lost`: nobody saw how it ended.",
    ),
    started_at: field(time, "When it was started."),
    ended_at: field(nullable(time), "When it ended."),
    exit_code: field(nullable(whole({ min: 0, max: 255 })), "How it ended."),
    stdout: field(text(), "The newest of its standard output."),
    stderr: field(text(), "The newest of its standard error."),
    encoding: field(encoding, "How stdout and stderr are written."),
    dropped_bytes: field(count, "Older output, which is not kept."),
  }),
);

export type ExecLogAnswer = ValueOf<typeof logAnswer>;

export const logs = operation({
  id: "getLogs",
  method: "GET",
  path: "/sandboxes/{name}/logs",
  tag,
  summary: "Output and end of detached commands",
  scope: ["read", "sandboxes"],
  query: object({
    exec: optional(text({ minLength: 1, maxLength: 64 }), "Only of this command."),
    tail: optional(whole({ min: 0, max: 1_000_000 }), "Only so many of the last lines of each command."),
    encoding: optional(encoding, "How output is written in the answer (utf8)."),
  }),
  answers: [
    answer(200, "Oldest first.", named("Logs", answerObject({ execs: field(list(logAnswer), "Detached commands.") }))),
  ],
  errors: namedErrors,
});

const record = named(
  "AuditRecord",
  answerObject({
    seq: field(whole({ min: 0 }), "Its number in the log."),
    time: field(time, "When."),
    type: field(choice(recordTypes), "What it is about; more fields follow by type."),
    sandbox: optional(nullable(text()), "The sandbox that it is about."),
  }),
);

const since = text({
  expected: "a time such as 2030-01-31T12:00:00Z",
  pattern: /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-][0-2]\d:[0-5]\d)$/,
});

const auditQuery = object({
  type: optional(text({ minLength: 1, maxLength: 64 }), "Only this type, or family of types such as `exec`."),
  denied: optional(flag(), "Only what was refused (false)."),
  since: optional(since, "From then on.", "2030-01-31T12:00:00Z"),
  limit: optional(whole({ min: 1, max: 10_000 }), "The newest so many (100)."),
});

const auditAnswer = answer(
  200,
  "Oldest first.",
  named("AuditRecords", answerObject({ records: field(list(record), "Records of what the caller may see.") })),
);

export const sandboxAudit = operation({
  id: "getSandboxAudit",
  method: "GET",
  path: "/sandboxes/{name}/audit",
  tag,
  summary: "Audit records of a sandbox",
  scope: ["read", "sandboxes"],
  query: auditQuery,
  answers: [auditAnswer],
  errors: namedErrors,
});

export const audit = operation({
  id: "getAudit",
  method: "GET",
  path: "/audit",
  tag,
  summary: "Audit records of all that the caller may see",
  scope: ["read", "sandboxes"],
  query: auditQuery,
  answers: [auditAnswer],
  errors: ["method_not_allowed"],
});

const eventNames = [
  "created",
  "started",
  "stopped",
  "paused",
  "resumed",
  "changed",
  "removed",
  "exec.started",
  "exec.ended",
] as const;

const eventsHelp =
  "Server-Sent Events: `created`, `started`, `stopped` {reason}, `paused`, `resumed`, `changed`, `removed`, `exec.started` {exec, command} and `exec.ended` {exec, code, signal, timed_out}, each with {time, sandbox}. Output of commands is never among them.";

export const sandboxEvents = operation({
  id: "getSandboxEvents",
  method: "GET",
  path: "/sandboxes/{name}/events",
  tag,
  summary: "What happens in a sandbox, as it happens",
  help: eventsHelp,
  scope: ["read", "sandboxes"],
  answers: [eventStream("Events, until the caller hangs up or the sandbox is removed.", eventNames)],
  errors: namedErrors,
});

export const events = operation({
  id: "getEvents",
  method: "GET",
  path: "/events",
  tag,
  summary: "What happens in all that the caller may see, as it happens",
  help: eventsHelp,
  scope: ["read", "sandboxes"],
  answers: [eventStream("Events, until the caller hangs up.", eventNames)],
  errors: ["method_not_allowed"],
});
