/**
 * Words into options, by a verb's table. Options end at the first word that is none, or after `--`; what follows
 * is the user's and is never looked at. Only verbs that take names, and no command, have options after those too. Our own because every start pays for it: loading commander took 8 ms.
 */
import { AgentKernelError } from "../core/errors.js";
import { nearest } from "../policy/nearest.js";
import { inOurWords, optionHint } from "./docker-habits.js";
import type { OptionSpec, ParsedOptions, VerbSpec } from "./option-spec.js";

const helpOption: OptionSpec = { long: "help", short: "h", help: "show this help" };

export function optionsOf(verb: VerbSpec): readonly OptionSpec[] {
  return [...verb.options, helpOption];
}

/** Never throws: the first problem comes back beside what was understood, `--json` for example. */
export function parseOptions(verb: VerbSpec, words: readonly string[]): ParsedOptions {
  const flags = new Set<string>();
  const values = new Map<string, string[]>();
  let problem: AgentKernelError | null = null;
  const between: string[] = [];
  let index = 0;
  const fail = (message: string, hint: string) => {
    problem ??= new AgentKernelError("invalid_argument", message, { hint });
  };
  const accept = (option: OptionSpec, shown: string, attached: string | undefined) => {
    if (option.value === undefined) {
      flags.add(option.long);
      if (attached !== undefined) fail(`${shown} takes no value`, helpFor(verb));
      return;
    }
    const value = attached ?? words[index];
    const isNextOption = attached === undefined && value !== undefined && isOptionWord(verb, value);
    if (value === undefined || isNextOption) {
      fail(`${shown} needs a value: ${option.value}`, exampleOf(option, shown));
      return;
    }
    if (attached === undefined) index++;
    const earlier = values.get(option.long);
    if (earlier && !option.repeats) fail(`${shown} is given twice`, "give it once");
    if (option.choices && !option.choices.includes(value)) {
      fail(`${shown}: "${value}" is not one of ${option.choices.join(", ")}`, didYouMean(value, option.choices, verb));
    }
    values.set(option.long, [...(earlier ?? []), value]);
  };
  while (index < words.length) {
    const word = inOurWords(verb.name, words[index] ?? "");
    if (word === "--") {
      index++;
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      if (verb.rest.kind !== "words") break;
      between.push(word);
      index++;
      continue;
    }
    index++;
    if (word.startsWith("--")) {
      const equals = word.indexOf("=");
      const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
      const option = optionsOf(verb).find((candidate) => candidate.long === name);
      if (option) accept(option, `--${name}`, equals < 0 ? undefined : word.slice(equals + 1));
      else problem ??= unknownOption(verb, `--${name}`);
    } else {
      acceptShorts(word.slice(1));
    }
  }
  const rest = [...between, ...words.slice(index)];
  const restProblem = whyBadRest(verb, rest, values.has("image"));
  if (restProblem !== null && !flags.has("help")) {
    const [word = ""] = rest;
    fail(restProblem, verb.rest.kind === "choices" ? didYouMean(word, verb.rest.choices, verb) : helpFor(verb));
  }
  return { flags, values, rest, problem };

  /** `-t`, `-e K=V`, `-eK=V`, and switches in one word. */
  function acceptShorts(letters: string): void {
    for (let at = 0; at < letters.length; at++) {
      const letter = letters[at];
      const option = optionsOf(verb).find((candidate) => candidate.short === letter);
      if (!option) {
        problem ??= unknownOption(verb, `-${letter}`);
        return;
      }
      const attached = letters.slice(at + 1);
      if (option.value !== undefined) {
        accept(option, `-${letter}`, attached === "" ? undefined : attached);
        return;
      }
      accept(option, `-${letter}`, undefined);
    }
  }
}

function isOptionWord(verb: VerbSpec, word: string): boolean {
  return (
    word === "--" ||
    optionsOf(verb).some((o) => word === `--${o.long}` || word.startsWith(`--${o.long}=`) || word === `-${o.short}`)
  );
}

function whyBadRest(verb: VerbSpec, rest: readonly string[], hasImage: boolean): string | null {
  const [first] = rest;
  if (verb.rest.kind === "words") return null;
  if (verb.rest.kind === "command") {
    // An image may say itself what it runs.
    const isMissing = first === undefined && !hasImage && verb.rest.optional !== true;
    return isMissing ? `${verb.name} needs a command` : null;
  }
  if (verb.rest.kind === "files") return first === undefined ? `${verb.name} needs a file` : null;
  if (verb.rest.kind === "none") return first === undefined ? null : `${verb.name} takes no word "${first}"`;
  const { choices } = verb.rest;
  if (first === undefined) return `${verb.name} needs one of ${choices.join(", ")}`;
  if (rest.length > 1) return `${verb.name} takes one word, not ${rest.length}`;
  return choices.includes(first) ? null : `${verb.name}: "${first}" is not one of ${choices.join(", ")}`;
}

function unknownOption(verb: VerbSpec, shown: string): AgentKernelError {
  const known = optionsOf(verb).map((option) => `--${option.long}`);
  return new AgentKernelError("invalid_argument", `${verb.name} has no option ${shown}`, {
    hint: optionHint(verb.name, shown) ?? didYouMean(shown, known, verb),
  });
}

function didYouMean(word: string, known: readonly string[], verb: VerbSpec): string {
  const near = nearest(word, known);
  return near === null ? helpFor(verb) : `did you mean ${near}?`;
}

function exampleOf(option: OptionSpec, shown: string): string {
  return option.choices ? `one of ${option.choices.join(", ")}` : `write ${shown} ${option.value}`;
}

function helpFor(verb: VerbSpec): string {
  return `agentkernel ${verb.name} --help shows how it is used`;
}
