/** Commands in temporary sandboxes. */
import { languages } from "../../backends/wasm/languages.js";
import type { ErrorCode } from "../../core/errors.js";
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, list, nullable, text, type ValueOf, whole } from "../schema/shapes.js";
import {
  backend,
  blocked,
  changes,
  imageUsed,
  layer,
  networkMode,
  outputFields,
  policyAnswer,
  usage,
} from "./answers.js";
import { failure } from "./errors.js";
import { commandFields, policyFields } from "./fields.js";
import { answer, commandEvents, enveloped, eventStream, operation } from "./operation.js";

const tag = "run";

/** What runs a command that is no program of an image. */
const moduleFields = {
  lang: optional(choice(languages), "With the backend `wasm`: the first word of the command is a program's text."),
  module: optional(
    text({ expected: "a WebAssembly module in base64", minLength: 1 }),
    "With the backend `wasm`: the module itself, in base64; the first word of the command is then only its name.",
  ),
};

export const runRequest = named("RunRequest", object({ ...commandFields, ...moduleFields, ...policyFields }));
export type RunBody = ValueOf<typeof runRequest>;

const runResult = named(
  "RunResult",
  answerObject({
    ...outputFields,
    backend: field(backend, "What isolated it."),
    image: field(imageUsed, "Its root filesystem."),
    ...policyAnswer,
    layers: field(list(layer), "Its walls."),
    usage: field(usage, "What it used."),
    network: field(
      answerObject({
        mode: field(networkMode, "What could be reached."),
        blocked: field(list(blocked), "What was refused."),
      }),
      "Its way out.",
    ),
    changes: field(nullable(changes), "What was carried over, where `workspace` is `sync`."),
    notes: field(list(text()), "What the caller should know besides."),
  }),
);
export type RunResult = ValueOf<typeof runResult>;

/** What can go wrong with any command in a fresh sandbox. */
export const startErrors: readonly ErrorCode[] = [
  "invalid_policy",
  "policy_denied",
  "image_unavailable",
  "image_not_found",
  "image_invalid",
  "digest_mismatch",
  "registry_unauthorized",
  "registry_unreachable",
  "registry_untrusted",
  "registry_error",
  "rate_limited",
  "backend_unavailable",
  "layer_unavailable",
  "sandbox_start_failed",
  "sandbox_died",
  "guest_protocol",
  "audit_unwritable",
  "resource_exhausted",
  "unsupported_media_type",
  "method_not_allowed",
];

export const commandErrors: readonly ErrorCode[] = [
  "command_not_found",
  "command_not_executable",
  "bad_workdir",
  "bad_user",
];

const example = {
  output: "2\n",
  stdout: "2\n",
  stderr: "",
  exit_code: 0,
};

export const run = operation({
  id: "run",
  method: "POST",
  path: "/run",
  tag,
  summary: "Run a command in a sandbox of its own",
  help: "The sandbox is made for this command and is gone when the answer comes. A command that fails is a result: `exit_code` says how it ended. The command ends when the caller hangs up.",
  scope: ["run"],
  body: runRequest,
  answers: [answer(200, "The command has ended.", runResult, example)],
  errors: [...startErrors, ...commandErrors],
});

export const runStream = operation({
  id: "runStream",
  method: "POST",
  path: "/run/stream",
  tag,
  summary: "Run a command in a sandbox of its own, and hear it while it runs",
  help: "Server-Sent Events: `started` {sandbox}, `stdout` and `stderr` {text} (with `encoding` base64: {base64}), then one `exit` {code, duration_ms, timed_out, sandbox, usage} or one `error` {code, message, hint}. Lines that start with a colon keep the connection alive. The command ends when the caller hangs up; a slow reader slows it down.",
  scope: ["run"],
  body: runRequest,
  answers: [eventStream("Events, from before the command starts to its end.", commandEvents)],
  errors: [...startErrors, ...commandErrors],
});

const batchRequest = named(
  "BatchRequest",
  object({
    commands: field(list(runRequest, { minItems: 1, maxItems: 100 }), "Each as for /run."),
    parallel: optional(whole({ min: 1, max: 100 }), "How many at once; the server's own limits hold besides (all)."),
  }),
);

const batchResult = named(
  "BatchResult",
  answerObject({
    results: field(
      {
        schema: { type: "array", items: { anyOf: [enveloped(runResult).schema, failure.schema] } },
        named: { ...runResult.named, ...failure.named },
        read: (value) => value,
      },
      "One for each command, in the order of the request.",
    ),
  }),
);

export const batchRun = operation({
  id: "batchRun",
  method: "POST",
  path: "/batch/run",
  tag,
  summary: "Run several commands side by side, each in a sandbox of its own",
  scope: ["run"],
  body: batchRequest,
  answers: [answer(200, "All have ended.", batchResult)],
  errors: startErrors,
});
