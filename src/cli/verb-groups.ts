/** The groups in which help shows the verbs, those that people type every day first. */
import type { VerbSpec } from "./option-spec.js";

interface VerbGroup {
  readonly title: string;
  /** The first word of each verb, in the order in which they are shown. */
  readonly firstWords: readonly string[];
}

export const verbGroups: readonly VerbGroup[] = [
  {
    title: "Every day",
    firstWords: ["run", "create", "exec", "attach", "list", "diff", "apply", "cp", "stop", "remove"],
  },
  { title: "Sandboxes that stay", firstWords: ["start", "logs", "info", "stats", "pause", "resume"] },
  { title: "Snapshots", firstWords: ["snapshot", "restore", "fork", "snapshots"] },
  { title: "What sandboxes may do", firstWords: ["policy", "trust", "audit"] },
  { title: "Images", firstWords: ["images"] },
  { title: "Agents and programs", firstWords: ["agents", "mcp", "mcp-server", "serve", "keys"] },
  { title: "This machine", firstWords: ["doctor", "setup", "daemon", "completions", "version", "help"] },
];

/** The verbs of a group, in its order. */
export function verbsOf({ firstWords }: VerbGroup, all: readonly VerbSpec[]): readonly VerbSpec[] {
  return firstWords.flatMap((first) => all.filter(({ name }) => name.split(" ", 1)[0] === first));
}
