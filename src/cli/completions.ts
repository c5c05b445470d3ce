/** Completions for the shells we know, all from the same tables as parsing and help. */
import { AgentKernelError } from "../core/errors.js";
import { bashCompletions } from "./completions/bash.js";
import { fishCompletions } from "./completions/fish.js";
import { zshCompletions } from "./completions/zsh.js";
import { shownVerbs } from "./verbs.js";

export function completionsFor(shell: string): string {
  if (shell === "bash") return bashCompletions(shownVerbs);
  if (shell === "zsh") return zshCompletions(shownVerbs);
  if (shell === "fish") return fishCompletions(shownVerbs);
  throw new AgentKernelError("invalid_argument", `there are no completions for "${shell}"`, {
    hint: "use bash, zsh or fish",
  });
}
