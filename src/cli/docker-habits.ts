/** Habits from Docker: options that mean the same here work, and the rest get a hint. */

/** Other tools' words for verbs of ours, one or two; they work. */
const everydayVerbs: Readonly<Record<string, string>> = {
  rm: "remove",
  delete: "remove",
  ls: "list",
  ps: "list",
  shell: "attach",
  ssh: "attach",
  kill: "stop",
  inspect: "info",
  copy: "cp",
  pull: "images pull",
  rmi: "images remove",
  load: "images import",
  save: "images export",
  "image ls": "images list",
  "image list": "images list",
  "image pull": "images pull",
  "image rm": "images remove",
  "images ls": "images list",
  "images rm": "images remove",
  "snapshot list": "snapshots list",
  "snapshot ls": "snapshots list",
  "snapshots ls": "snapshots list",
  "snapshots rm": "snapshots remove",
};

/** Options of other tools, by verb and option; the answer says what to write here. */
const everydayOptions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: {
    "--rm": "leave it out: run always removes its sandbox; --keep lets it stay",
    "--interactive": "leave it out: standard input always reaches the command; --tty gives it a terminal",
    "--name": "run names its sandboxes itself; agentkernel create NAME makes one that stays under that name",
    "--detach": "agentkernel create NAME, then agentkernel exec --detach NAME COMMAND",
    "-d": "agentkernel create NAME, then agentkernel exec --detach NAME COMMAND",
    "--volume": "write --mount",
    "-v": "write --mount",
    "--cpus": "write --vcpus",
    "--pids-limit": "write --pids",
    "--entrypoint": "leave it out: the words after the options are the whole command",
    "--privileged": "there is no such sandbox; --profile permissive allows the most",
    "--net": "write --network",
  },
  create: {
    "--name": "the name is the last word: agentkernel create NAME",
    "--volume": "write --mount",
    "-v": "write --mount",
    "--cpus": "write --vcpus",
    "--pids-limit": "write --pids",
    "--net": "write --network",
  },
  exec: {
    "-i": "leave it out: standard input always reaches the command",
    "--interactive": "leave it out: standard input always reaches the command",
  },
  list: {
    "-a": "leave it out: list shows stopped sandboxes too",
    "--all": "leave it out: list shows stopped sandboxes too",
  },
  logs: { "--tail": "leave it out, and pipe into tail -n" },
  stop: { "-t": "write --timeout" },
};

/** The words with a verb of ours instead of another tool's; null where the first ones are no such verb. */
export function withOurVerb(words: readonly string[]): readonly string[] | null {
  const [first = "", second] = words;
  for (const [taken, spelt] of [
    [2, `${first} ${second}`],
    [1, first],
  ] as const) {
    const ours = Object.hasOwn(everydayVerbs, spelt) ? everydayVerbs[spelt] : undefined;
    if (ours !== undefined) return [...ours.split(" "), ...words.slice(taken)];
  }
  return null;
}

/** What to write instead of an option of another tool. */
export function optionHint(verb: string, shown: string): string | null {
  const hints = Object.hasOwn(everydayOptions, verb) ? everydayOptions[verb] : undefined;
  return hints !== undefined && Object.hasOwn(hints, shown) ? (hints[shown] ?? null) : null;
}

/** Words that mean the same as ours. `-it` is how everybody asks for a terminal; here `-i` alone is an image. */
export function inOurWords(verb: string, word: string): string {
  const isTerminal = word === "-it" || word === "-ti";
  return isTerminal && (verb === "run" || verb === "exec") ? "--tty" : word;
}
