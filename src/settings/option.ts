/** The descriptor of one setting that is no number: a choice, a text, a list of texts, or a switch. */
export interface OptionDescription {
  /** `run --FLAG`. */
  readonly flag: string;
  readonly short?: string;
  /** Placeholder of the value in command-line help; without it the option is a switch. */
  readonly placeholder?: string;
  /** The words that every surface takes; a value beside them is an error. */
  readonly choices?: readonly string[];
  /** The flag may be given more than once, and the JSON field is a list or an object. */
  readonly repeats?: boolean;
  /** What a shell completes where there are no choices. */
  readonly completes?: "file" | "folder";
  /** A noun phrase or an imperative, for command-line help. */
  readonly help: string;
  /** The field of a JSON request, HTTP and MCP; none where a request cannot set it. */
  readonly json?: string;
  /** The same for readers of the JSON schema. */
  readonly jsonHelp?: string;
  /** The key in agentkernel.toml. */
  readonly toml?: string;
  /** The key in a policy file. */
  readonly policyFile?: string;
}

/** Keeps the literal types of the descriptor. */
export function option<const O extends OptionDescription>(described: O): O {
  return described;
}
