/** Help, made from the option tables. */
import type { OptionSpec, VerbSpec } from "./option-spec.js";
import { optionsOf } from "./parse-options.js";
import { verbGroups, verbsOf } from "./verb-groups.js";
import { shownVerbs } from "./verbs.js";

export function overviewHelp(): string {
  return lines([
    "agentkernel runs commands of AI coding agents in sandboxes on this machine.",
    "",
    "Usage: agentkernel <verb> [options]",
    "",
    ...verbGroups.flatMap((group) => [`${group.title}:`, ...verbLines(verbsOf(group, shownVerbs)), ""]),
    "Options:",
    ...columns([
      ["-h, --help", "show this help; after a verb, the verb's"],
      ["-V, --version", "print the version"],
    ]),
    "",
    "Example:",
    "  agentkernel run echo hello",
  ]);
}

/** All groups have their texts in one column. */
function verbLines(some: readonly VerbSpec[]): string[] {
  const width = Math.max(...shownVerbs.map(({ name }) => name.length));
  return some.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
}

export function verbHelp(verb: VerbSpec): string {
  return lines([
    `${capitalised(verb.summary)}.`,
    "",
    `Usage: agentkernel ${verb.usage}`,
    "",
    "Options:",
    ...columns(optionsOf(verb).map((option) => [optionHead(option), optionHelp(option)])),
    "",
    verb.examples.length > 1 ? "Examples:" : "Example:",
    ...verb.examples.map((example) => `  ${example}`),
  ]);
}

/** For a word that several verbs begin with. */
export function familyHelp(family: readonly VerbSpec[]): string {
  const [first = ""] = (family[0]?.name ?? "").split(" ", 1);
  return lines([
    `Usage: agentkernel ${first} <verb> [options]`,
    "",
    "Verbs:",
    ...columns(family.map(({ name, summary }) => [name, summary])),
    "",
    `agentkernel ${first} <verb> --help shows the options of one.`,
  ]);
}

function optionHead({ short, long, value }: OptionSpec): string {
  const name = `${short === undefined ? "    " : `-${short}, `}--${long}`;
  return value === undefined ? name : `${name} ${value}`;
}

function optionHelp({ help, choices }: OptionSpec): string {
  return choices === undefined ? help : `${help}: ${choices.join(", ")}`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([head]) => head.length));
  return rows.map(([head, text]) => `  ${head.padEnd(width)}  ${text}`);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function lines(all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
