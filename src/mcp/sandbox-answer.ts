/** A sandbox, as tools tell of it. */
import { networkMode, policyAnswer, time } from "../api/operations/answers.js";
import { answerObject, field } from "../api/schema/object-shape.js";
import { choice, list, nullable, text, type ValueOf } from "../api/schema/shapes.js";
import type { Layer } from "../core/backend.js";
import { escapeText } from "../core/escape.js";
import type { Redactor } from "../core/redact.js";
import type { Sandbox } from "../runtime/sandboxes/index.js";
import type { SessionSandbox } from "../runtime/session-sandbox.js";
import { hiddenNotes } from "./output/notes.js";

export const sandboxAnswer = answerObject({
  name: field(text(), "By which the other tools reach it."),
  kind: field(
    choice(["named", "session"]),
    "named: it stays until it is removed. session: it ends with this connection.",
  ),
  state: field(choice(["created", "running", "paused", "stopped"]), "What it does now."),
  image: field(text(), "Its root filesystem."),
  ...policyAnswer,
  network: field(networkMode, "What can be reached."),
  project: field(nullable(text()), "The folder of the host that it shows as /workspace."),
  created_at: field(time, "When it was made."),
  notes: field(list(text()), "What its user should know, such as walls that do not stand."),
});

type SandboxAnswer = ValueOf<typeof sandboxAnswer>;

export function sessionAnswer(name: string, sandbox: SessionSandbox, redact: Redactor): SandboxAnswer {
  const { policy, image, request, layers, startedAtMs } = sandbox;
  return {
    name,
    kind: "session",
    state: sandbox.isOver ? "stopped" : "running",
    image: image.name,
    profile: policy.profile,
    compatibility_mode: policy.mode,
    network: policy.net.egress,
    project: request.projectDir,
    created_at: new Date(startedAtMs).toISOString(),
    notes: [...request.notes, ...image.notes, ...missingWalls(layers), ...hiddenNotes(layers)].map((note) =>
      redact.value(note),
    ),
  };
}

export async function namedAnswer(sandbox: Sandbox, redact: Redactor): Promise<SandboxAnswer> {
  const info = await sandbox.info();
  return {
    name: info.name,
    kind: "named",
    state: info.state,
    image: info.image.name,
    profile: info.policy.profile,
    compatibility_mode: info.policy.mode,
    network: info.policy.net.egress,
    project: info.projectDir,
    created_at: new Date(info.createdAtMs).toISOString(),
    notes: [...info.notes, ...missingWalls(info.layers), ...hiddenNotes(info.layers)].map((note) => redact.value(note)),
  };
}

function missingWalls(layers: readonly Layer[]): readonly string[] {
  return layers
    .filter(({ state }) => state !== "applied")
    .map(({ name, state, detail }) => `${name}: ${detail ?? state}`);
}

export function sandboxLine({ name, kind, state, image, network, profile }: SandboxAnswer): string {
  return `${name}: ${state}, ${kind}, image ${escapeText(image)}, profile ${profile}, network ${network}`;
}
