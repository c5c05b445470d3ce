/** Sandboxes with a name, which stay until they are removed. */
import type { ErrorCode } from "../../core/errors.js";
import { keyHelp } from "../../settings/numeric-setting.js";
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, list, nullable, number, text, type ValueOf } from "../schema/shapes.js";
import { backend, bytesOrNull, count, imageUsed, layer, networkMode, policyAnswer, time } from "./answers.js";
import { byResourceKey, duration, network, policyFields, publishField, sandboxName } from "./fields.js";
import { answer, operation } from "./operation.js";
import { startErrors } from "./runs.js";

const tag = "sandboxes";
const sandboxStates = ["created", "running", "paused", "stopped"] as const;

const publishedPort = named(
  "PublishedPort",
  answerObject({
    address: field(text(), "Of the host."),
    host_port: field(count, "The port of the host."),
    guest_port: field(count, "The port inside that it leads to."),
  }),
);

export const sandbox = named(
  "Sandbox",
  answerObject({
    name: field(sandboxName, "How it is called."),
    state: field(choice(sandboxStates), "What it does now."),
    backend: field(backend, "What isolates it."),
    image: field(nullable(imageUsed), "Its root filesystem; null where that is not known yet."),
    ...policyAnswer,
    network: field(networkMode, "What can be reached."),
    resources: field(
      answerObject(
        byResourceKey(({ setting }) =>
          field(number({ min: 0 }, setting.quantity.whole), keyHelp({ ...setting, default: null })),
        ),
      ),
      "Its limits.",
    ),
    dir: field(nullable(text()), "The folder of the host that it shows as /workspace."),
    created_at: field(time, "When it was made."),
    started_at: field(nullable(time), "When it was last started; null where it does not run."),
    expires_at: field(nullable(time), "When it will be removed."),
    ttl_ms: field(nullable(count), "How long after its creation it is removed."),
    idle_timeout_ms: field(nullable(count), "After so long without work it is stopped."),
    ports: field(list(publishedPort), "Its published ports; empty where it does not run."),
    layers: field(list(layer), "Its walls; empty where it does not run."),
    notes: field(list(text()), "What its user should know."),
  }),
);
export type SandboxAnswer = ValueOf<typeof sandbox>;

/** What can be wrong with any sandbox that is named. */
export const namedErrors: readonly ErrorCode[] = ["conflict", "sandbox_died", "method_not_allowed"];

const createRequest = named(
  "CreateSandboxRequest",
  object({
    name: field(sandboxName, "How it will be called.", "work"),
    ...policyFields,
    publish: publishField,
    ttl: optional(duration, "It is removed so long after its creation.", "1h"),
    idle_timeout: optional(duration, "It is stopped after so long without work.", "10m"),
    start: optional(flag(), "false: it is made and not started (true)."),
  }),
);
export type CreateBody = ValueOf<typeof createRequest>;

export const listSandboxes = operation({
  id: "listSandboxes",
  method: "GET",
  path: "/sandboxes",
  tag,
  summary: "The sandboxes that the caller may see",
  scope: ["read", "sandboxes"],
  query: object({ state: optional(choice(sandboxStates), "Only those in this state.") }),
  answers: [
    answer(
      200,
      "Sorted by name.",
      named("SandboxList", answerObject({ sandboxes: field(list(sandbox), "All of them.") })),
    ),
  ],
});

export const createSandbox = operation({
  id: "createSandbox",
  method: "POST",
  path: "/sandboxes",
  tag,
  summary: "Make a sandbox that stays",
  scope: ["sandboxes"],
  body: createRequest,
  answers: [answer(201, "It is there, and runs unless `start` was false.", sandbox)],
  errors: [...startErrors, "conflict"],
});

export const getSandbox = operation({
  id: "getSandbox",
  method: "GET",
  path: "/sandboxes/{name}",
  tag,
  summary: "One sandbox",
  scope: ["read", "sandboxes"],
  answers: [answer(200, "As it is now.", sandbox)],
  errors: namedErrors,
});

const patchRequest = named(
  "PatchSandboxRequest",
  object({
    ttl: optional(nullable(duration), "It is removed so long after its creation; null: never."),
    idle_timeout: optional(nullable(duration), "It is stopped after so long without work; null: never."),
    network: optional(network, "What can be reached, from the next connection on."),
  }),
);

export const patchSandbox = operation({
  id: "patchSandbox",
  method: "PATCH",
  path: "/sandboxes/{name}",
  tag,
  summary: "Change how long a sandbox stays, or what it may reach",
  scope: ["sandboxes"],
  body: patchRequest,
  answers: [answer(200, "As it is from now on.", sandbox)],
  errors: [...namedErrors, "policy_denied", "unsupported_media_type", "unsupported"],
});

export const removed = named("Removed", answerObject({ name: field(text(), "Of the sandbox that is gone.") }));

export const removeSandbox = operation({
  id: "removeSandbox",
  method: "DELETE",
  path: "/sandboxes/{name}",
  tag,
  summary: "Remove a sandbox with all that is in it",
  scope: ["sandboxes"],
  query: object({ force: optional(flag(), "Also where it runs: its commands are ended (false).") }),
  answers: [answer(200, "It is gone.", removed)],
  errors: namedErrors,
});

function action(name: string, summary: string, done: string, errors: readonly ErrorCode[] = []) {
  return operation({
    id: `${name}Sandbox`,
    method: "POST",
    path: `/sandboxes/{name}/${name}`,
    tag,
    summary,
    scope: ["sandboxes"],
    answers: [answer(200, done, sandbox)],
    errors: [...namedErrors, ...errors],
  });
}

export const startSandbox = action("start", "Start a sandbox", "It runs.", startErrors);
export const stopSandbox = action("stop", "End all that runs in a sandbox; its files stay", "It is stopped.");
export const pauseSandbox = action("pause", "Freeze a sandbox", "It is paused.", ["unsupported"]);
export const resumeSandbox = action("resume", "Let a frozen sandbox go on", "It runs.", ["unsupported"]);

export const stats = named(
  "Stats",
  answerObject({
    name: field(text(), "Of the sandbox."),
    state: field(choice(sandboxStates), "What it does now."),
    memory_bytes: field(bytesOrNull, "Memory in use."),
    memory_peak_bytes: field(bytesOrNull, "The most since it was started."),
    cpu_us: field(bytesOrNull, "Processor time since it was started."),
    processes: field(bytesOrNull, "Processes and threads."),
    oom_kills: field(bytesOrNull, "Processes killed at the memory limit."),
    processes_denied: field(bytesOrNull, "Processes refused at the limit of processes."),
    disk_bytes: field(bytesOrNull, "What it has written and kept."),
    network_received_bytes: field(bytesOrNull, "Bytes that came in through the gateway."),
    network_sent_bytes: field(bytesOrNull, "Bytes that went out through it."),
  }),
  "What a sandbox uses; null where nothing can tell, or where it does not run.",
);

export const sandboxStats = operation({
  id: "getSandboxStats",
  method: "GET",
  path: "/sandboxes/{name}/stats",
  tag,
  summary: "What a sandbox uses",
  scope: ["read", "sandboxes"],
  answers: [answer(200, "Now.", stats)],
  errors: namedErrors,
});
