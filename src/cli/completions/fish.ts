/** Completions for fish; a function of ours says whether options of a verb can still be given. */
import { knownWords, namesCommand, type OptionSpec, takesFiles, takesNames, type VerbSpec } from "../option-spec.js";
import { optionsOf } from "../parse-options.js";

export function fishCompletions(verbs: readonly VerbSpec[]): string {
  const firstWords = [...new Map(verbs.map((verb) => [verb.name.split(" ", 1)[0] ?? verb.name, verb.summary]))];
  const families = verbs.map(({ name }) => name.split(" ")).filter((words) => words.length === 2);
  const valued = [...new Set(verbs.flatMap(optionsOf).filter(takesValue).flatMap(words))];
  const lines = [
    "complete -c agentkernel -f",
    ...firstWords.map(([name, summary]) => `complete -c agentkernel -n ${at("")} -a ${name} -d ${quote(summary)}`),
    ...families.map(([first, second]) => `complete -c agentkernel -n ${at(first ?? "")} -a ${second}`),
    ...verbs.flatMap((verb) => [...optionsOf(verb).map((option) => optionLine(verb, option)), ...restLines(verb)]),
  ];
  return `# fish completions for agentkernel
function __agentkernel_at
    set -l words (commandline -opc)
    set -e words[1]
    for part in (string split -n ' ' -- $argv[1])
        test "$words[1]" = "$part"; or return 1
        set -e words[1]
    end
    set -l skip no
    for word in $words
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case --
                return 1
            case ${valued.join(" ")}
                set skip yes
            case '-*'
            case '*'
                return 1
        end
    end
    return 0
end
${lines.join("\n")}
`;
}

function optionLine(verb: VerbSpec, option: OptionSpec): string {
  const names = option.short === undefined ? `-l ${option.long}` : `-s ${option.short} -l ${option.long}`;
  return `complete -c agentkernel -n ${at(verb.name)} ${names}${value(option)} -d ${quote(option.help)}`;
}

function value(option: OptionSpec): string {
  if (!takesValue(option)) return "";
  if (option.choices) return ` -x -a ${quote(option.choices.join(" "))}`;
  return option.completes === undefined ? " -x" : " -r -F";
}

function restLines(verb: VerbSpec): string[] {
  const condition = `complete -c agentkernel -n ${at(verb.name)}`;
  if (takesNames(verb)) return [`${condition} -a ${quote(`(${namesCommand(verb)})`)}`];
  if (verb.rest.kind === "command") return [`${condition} -a '(__fish_complete_command)'`];
  if (takesFiles(verb)) return [`${condition} -F`];
  const known = knownWords(verb);
  if (known !== undefined) return [`${condition} -a ${quote(known.join(" "))}`];
  return [];
}

function at(verb: string): string {
  return quote(`__agentkernel_at "${verb}"`);
}

function takesValue(option: OptionSpec): boolean {
  return option.value !== undefined;
}

function words({ short, long }: OptionSpec): readonly string[] {
  return short === undefined ? [`--${long}`] : [`-${short}`, `--${long}`];
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
