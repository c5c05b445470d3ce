/** Parts that several answers have. */
import { backendNames } from "../../core/backend.js";
import { compatibilityModes, egressModes, profileNames } from "../../core/policy.js";
import { answerObject, field, named } from "../schema/object-shape.js";
import { choice, flag, list, nullable, number, text, whole } from "../schema/shapes.js";
import { encoding } from "./fields.js";

export const count = whole({ min: 0 });
export const bytesOrNull = nullable(count);
export const time = text({ schema: { format: "date-time" } });

export const imageUsed = named(
  "ImageUsed",
  answerObject({
    name: field(text(), "As it is called."),
    digest: field(nullable(text()), "Of its manifest; null for the host's own files."),
    why: field(text(), "What named it."),
  }),
);

export const layer = named(
  "Layer",
  answerObject({
    name: field(text(), "Which wall."),
    state: field(choice(["applied", "partial", "absent"]), "Whether it stands."),
    detail: field(nullable(text()), "What is missing."),
  }),
  "One wall of a sandbox, and whether it stands.",
);

export const blocked = named(
  "Blocked",
  answerObject({
    host: field(text(), "Name or address that was asked for."),
    port: field(nullable(whole({ min: 0, max: 65_535 })), "Null where a name was only looked up."),
    rule: field(text(), "The rule that refused it."),
    times: field(count, "How often."),
  }),
  "Something that the sandbox was not let through to.",
);

export const usage = named(
  "Usage",
  answerObject({
    cpu_us: field(bytesOrNull, "Processor time."),
    memory_peak_bytes: field(bytesOrNull, "The most memory at once."),
    oom_kills: field(count, "Processes killed at the memory limit."),
    processes_denied: field(count, "Processes refused at the limit of processes."),
  }),
);

/** How a command ended, wherever it ran. */
export const outputFields = {
  output: field(text(), "Both streams in order of arrival."),
  stdout: field(text(), "Standard output."),
  stderr: field(text(), "Standard error."),
  exit_code: field(
    whole({ min: 0, max: 255 }),
    "The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.",
  ),
  duration_ms: field(number({ min: 0 }), "From the request to the end."),
  timed_out: field(flag(), "The time limit ended it."),
  sandbox: field(text(), "The sandbox that it ran in."),
  encoding: field(encoding, "How output, stdout and stderr are written."),
  dropped_bytes: field(count, "Output beyond the limit, which is not here."),
};

export const changes = named(
  "Changes",
  answerObject({
    written: field(list(text()), "Written to the folder on the host."),
    deleted: field(list(text()), "Deleted there."),
    conflicts: field(list(text()), "Changed on the host meanwhile, and left. The sandbox's version is kept."),
    refused: field(list(text()), "Hidden or protected, and left."),
    held: field(list(text()), "Waits for the user's review, since it steers what the user runs later, and left."),
    held_as: field(
      nullable(text()),
      "The name under which `agentkernel diff` and `apply` find what is held or in conflict, where it is not in a sandbox.",
    ),
    omitted: field(count, "Paths that are not listed."),
    repositories: field(list(text()), "Why git repositories were left as they were."),
  }),
  "What was carried over to the project on the host.",
);

export const policyAnswer = {
  profile: field(choice(profileNames), "How much is allowed."),
  compatibility_mode: field(choice(compatibilityModes), "The agent whose defaults hold."),
};

export const networkMode = choice(egressModes);
export const backend = choice(backendNames);
