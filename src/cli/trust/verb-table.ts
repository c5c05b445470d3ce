/** The verb that answers for a project's own settings. */
import type { VerbSpec } from "../option-spec.js";

export const trustVerb: VerbSpec = {
  name: "trust",
  summary: "allow what a project's own settings ask for",
  usage: "trust [options] [directory]",
  examples: ["agentkernel trust", "agentkernel trust --list", "agentkernel trust --revoke ~/src/app"],
  options: [
    { long: "list", help: "list the projects that you have answered for" },
    { long: "revoke", help: "forget the answer; what the settings ask for is refused again" },
    { long: "json", help: "print the result as JSON" },
  ],
  rest: { kind: "words", completes: "file" },
  apart: true,
  load: () => import("../verbs/trust.js"),
};
