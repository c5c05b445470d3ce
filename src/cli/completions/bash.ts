/** A completion function for bash: options until the user's command begins, then commands and files. */
import { knownWords, namesCommand, type OptionSpec, takesFiles, takesNames, type VerbSpec } from "../option-spec.js";
import { optionsOf } from "../parse-options.js";

export function bashCompletions(verbs: readonly VerbSpec[]): string {
  const firstWords = [...new Set(verbs.map(({ name }) => name.split(" ", 1)[0]))];
  const families = [
    ...new Set(verbs.filter(({ name }) => name.includes(" ")).map(({ name }) => name.split(" ", 1)[0] ?? "")),
  ];
  return `# bash completions for agentkernel
_agentkernel() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} verb=\${COMP_WORDS[1]} at=2
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${firstWords.join(" ")} --help --version" -- "$cur"))
    return
  fi
  case $verb in
${families.map((family) => familyCase(family, verbs)).join("\n")}
  esac
  case $verb in
${verbs.map(verbCase).join("\n")}
  esac
}
complete -F _agentkernel agentkernel
`;
}

function familyCase(first: string, verbs: readonly VerbSpec[]): string {
  const seconds = verbs
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name }) => name.slice(first.length + 1));
  // Such a word may also be a verb by itself, with options of its own.
  const isVerb = verbs.some(({ name }) => name === first);
  return `    ${first})
      if [ "$COMP_CWORD" -eq 2 ]${isVerb ? " && [[ $cur != -* ]]" : ""}; then
        COMPREPLY=($(compgen -W "${seconds.join(" ")}" -- "$cur"))
        return
      fi
      ${isVerb ? `[[ \${COMP_WORDS[2]} == -* ]] || ` : ""}verb="${first} \${COMP_WORDS[2]}" at=3
      ;;`;
}

function verbCase(verb: VerbSpec): string {
  const options = optionsOf(verb);
  const valued = options.filter((option) => option.value !== undefined).flatMap(words);
  const skipValues = valued.length === 0 ? "" : `\n          ${valued.join("|")}) at=$((at + 1)) ;;`;
  return `    "${verb.name}")
      while [ "$at" -lt "$COMP_CWORD" ]; do
        case \${COMP_WORDS[at]} in
          --) at=-1; break ;;${skipValues}
          -*) ;;
          *) at=-1; break ;;
        esac
        at=$((at + 1))
      done
      if [ "$at" -eq -1 ]; then
        ${laterLine(verb)}
        return
      fi
      if [ "$at" -gt "$COMP_CWORD" ]; then
        case $prev in
${options.map(valueCase).filter(Boolean).join("\n")}
        esac
        return
      fi
      case $cur in
        -*) COMPREPLY=($(compgen -W "${options.flatMap(words).join(" ")}" -- "$cur")) ;;
        *) ${restLine(verb)} ;;
      esac
      ;;`;
}

function valueCase(option: OptionSpec): string {
  const pattern = `          ${words(option).join("|")})`;
  if (option.choices) return `${pattern} COMPREPLY=($(compgen -W "${option.choices.join(" ")}" -- "$cur")) ;;`;
  if (option.completes) return `${pattern} COMPREPLY=($(compgen ${flagFor(option)} -- "$cur")) ;;`;
  return "";
}

function restLine(verb: VerbSpec): string {
  if (takesNames(verb)) return namesLine(verb);
  if (verb.rest.kind === "command") return `COMPREPLY=($(compgen -c -- "$cur"))`;
  if (takesFiles(verb)) return `COMPREPLY=($(compgen -f -- "$cur"))`;
  const known = knownWords(verb);
  if (known !== undefined) return `COMPREPLY=($(compgen -W "${known.join(" ")}" -- "$cur"))`;
  return ":";
}

/** After the first word that is no option. */
function laterLine(verb: VerbSpec): string {
  return verb.rest.kind === "words" && (verb.rest.completes === "sandbox" || verb.rest.completes === "snapshot")
    ? namesLine(verb)
    : `COMPREPLY=($(compgen -f -- "$cur"))`;
}

function namesLine(verb: VerbSpec): string {
  return `COMPREPLY=($(compgen -W "$(${namesCommand(verb)})" -- "$cur"))`;
}

function flagFor({ completes }: OptionSpec): string {
  return completes === "folder" ? "-d" : "-f";
}

function words({ short, long }: OptionSpec): readonly string[] {
  return short === undefined ? [`--${long}`] : [`-${short}`, `--${long}`];
}
