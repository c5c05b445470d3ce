/** Pages of the manual, made from the same tables as parsing, help and completions. */
import { version } from "../core/version.js";
import type { OptionSpec, VerbSpec } from "./option-spec.js";
import { optionsOf } from "./parse-options.js";
import { shownVerbs } from "./verbs.js";

interface ManualPage {
  readonly file: string;
  readonly text: string;
}

export function manualPages(): readonly ManualPage[] {
  // A verb that can be written as two words or as one has one page.
  const pages = new Map(shownVerbs.map((verb) => [`${pageName(verb)}.1`, verbPage(verb)]));
  return [{ file: "agentkernel.1", text: overviewPage() }, ...[...pages].map(([file, text]) => ({ file, text }))];
}

const exitStatuses: readonly (readonly [string, string])[] = [
  ["124", "the command ran out of time"],
  ["125", "agentkernel itself failed"],
  ["126", "the command was found and cannot be executed"],
  ["127", "the command was not found"],
  ["128+n", "the command was killed by signal n"],
];

function overviewPage(): string {
  return page("agentkernel", "runs commands of AI coding agents in sandboxes on this machine", [
    ".SH SYNOPSIS",
    ".B agentkernel",
    roff("<verb> [options]"),
    ".SH VERBS",
    ...shownVerbs.flatMap(({ name, summary }) => [".TP", `.B ${roff(name)}`, line(summary)]),
    ".SH OPTIONS",
    ...optionLines({ long: "help", short: "h", help: "show help; after a verb, the verb's" }),
    ...optionLines({ long: "version", short: "V", help: "print the version" }),
    ".SH EXAMPLES",
    ".nf",
    "agentkernel run echo hello",
    ".fi",
  ]);
}

function verbPage(verb: VerbSpec): string {
  const runsCommand = verb.name === "run" || verb.name === "exec";
  return page(pageName(verb), verb.summary, [
    ".SH SYNOPSIS",
    ".B agentkernel",
    roff(verb.usage),
    ".SH OPTIONS",
    ...optionsOf(verb).flatMap(optionLines),
    ".SH EXAMPLES",
    ".nf",
    ...verb.examples.map(line),
    ".fi",
    ...(runsCommand ? [".SH EXIT STATUS", "That of the command, or:", ...exitStatuses.flatMap(statusLines)] : []),
    ".SH SEE ALSO",
    ".BR agentkernel (1)",
  ]);
}

function page(name: string, summary: string, lines: readonly string[]): string {
  const head = `.TH "${roff(name.toUpperCase())}" 1 "" "${roff(`agentkernel ${version}`)}" "agentkernel"`;
  return [head, ".SH NAME", `${roff(name)} \\- ${roff(summary)}`, ...lines, ""].join("\n");
}

function pageName({ name }: VerbSpec): string {
  return `agentkernel-${name.replaceAll(" ", "-")}`;
}

function optionLines({ short, long, value, help, choices }: OptionSpec): readonly string[] {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${long}`].map((name) => `\\fB${roff(name)}\\fR`);
  const shown = value === undefined ? "" : ` \\fI${roff(value)}\\fR`;
  return [".TP", `${names.join(", ")}${shown}`, line(choices === undefined ? help : `${help}: ${choices.join(", ")}`)];
}

function statusLines([status, meaning]: readonly [string, string]): readonly string[] {
  return [".TP", `.B ${roff(status)}`, line(meaning)];
}

/** A dash that is typed must not become a hyphen, nor a backslash an escape. */
function roff(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll('"', "\\(dq");
}

/** A line of text that begins like a request is none. */
function line(text: string): string {
  const escaped = roff(text);
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
