/** A completion function for zsh; `-A "-*"` ends our options where the user's command begins. */
import { knownWords, namesCommand, type OptionSpec, takesFiles, takesNames, type VerbSpec } from "../option-spec.js";
import { optionsOf } from "../parse-options.js";

export function zshCompletions(verbs: readonly VerbSpec[]): string {
  const described = [...new Map(verbs.map((verb) => [firstWord(verb), verb.summary]))];
  const families = [...new Set(verbs.filter(({ name }) => name.includes(" ")).map(firstWord))];
  return `#compdef agentkernel
# zsh completions for agentkernel
_agentkernel() {
  local verb=$words[2] skip=1
  if (( CURRENT == 2 )); then
    local -a verbs=(
${described.map(([name, summary]) => `      ${quote(`${name}:${summary}`)}`).join("\n")}
    )
    _describe verb verbs
    return
  fi
  case $verb in
${families.map((family) => familyCase(family, verbs)).join("\n")}
  esac
  shift $skip words
  (( CURRENT -= skip ))
  case $verb in
${verbs.map(verbCase).join("\n")}
  esac
}
# Autoloaded from fpath this file is the function's body; sourced, it only defines the function.
if [ "\${funcstack[1]}" = _agentkernel ]; then
  _agentkernel "$@"
else
  compdef _agentkernel agentkernel
fi
`;
}

function familyCase(family: string, verbs: readonly VerbSpec[]): string {
  const seconds = verbs
    .filter(({ name }) => name.startsWith(`${family} `))
    .map(({ name }) => name.slice(family.length + 1));
  // Such a word may also be a verb by itself, with options of its own.
  const isVerb = verbs.some(({ name }) => name === family);
  return `    ${family})
      if (( CURRENT == 3 ))${isVerb ? " && [[ $words[3] != -* ]]" : ""}; then
        compadd ${seconds.join(" ")}
        return
      fi
      ${isVerb ? "[[ $words[3] == -* ]] || " : ""}verb="${family} $words[3]" skip=2
      ;;`;
}

function verbCase(verb: VerbSpec): string {
  const specs = [...optionsOf(verb).flatMap(optionSpecs), ...restSpecs(verb)];
  return `    ${quote(verb.name)})
      _arguments -S -A '-*' ${specs.map((spec) => `\\\n        ${quote(spec)}`).join(" ")}
      ;;`;
}

function optionSpecs(option: OptionSpec): string[] {
  const names = option.short === undefined ? [`--${option.long}`] : [`-${option.short}`, `--${option.long}`];
  const once = option.repeats ? "*" : `(${names.join(" ")})`;
  const value = option.value === undefined ? "" : `:${plain(option.value)}:${action(option)}`;
  return names.map((name) => `${once}${name}[${plain(option.help)}]${value}`);
}

function action({ choices, completes }: OptionSpec): string {
  if (choices) return `(${choices.join(" ")})`;
  if (completes === "file") return "_files";
  return completes === "folder" ? "_files -/" : " ";
}

function restSpecs(verb: VerbSpec): string[] {
  const command = "*::command:_normal";
  if (takesNames(verb)) {
    const names = `{compadd -- \${(f)"$(${namesCommand(verb)})"}}`;
    if (verb.rest.kind === "command") return [`1:sandbox:${names}`, command];
    const isOnlyNames = verb.rest.kind === "words" && verb.rest.completes !== "sandbox-then-files";
    return isOnlyNames ? [`*:sandbox:${names}`] : [`1:sandbox:${names}`, "*:file:_files"];
  }
  if (verb.rest.kind === "command") return [command];
  if (takesFiles(verb)) return ["*:file:_files"];
  const known = knownWords(verb);
  if (known !== undefined) return [`1:word:(${known.join(" ")})`];
  return [];
}

function firstWord({ name }: VerbSpec): string {
  return name.split(" ", 1)[0] ?? name;
}

/** Without what has a meaning inside a spec. */
function plain(text: string): string {
  return text.replace(/[:[\]\\]/g, " ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
