// The options of Apple's `container` that its command reference (version 1) lists for the commands that the double
// knows, and how that program's parser takes them: strictly, with status 64 for what it does not know.
const flag = (...names) => ({ names, takesValue: false });
const value = (...names) => ({ names, takesValue: true });

const process_ = [
  ...[value("-e", "--env"), value("--env-file"), value("--gid"), flag("-i", "--interactive"), flag("-t", "--tty")],
  ...[value("-u", "--user"), value("--uid"), value("--ulimit"), value("-w", "--workdir", "--cwd")],
];
const run = [
  ...process_,
  ...[value("-c", "--cpus"), value("-m", "--memory"), value("-a", "--arch"), value("--cap-add"), value("--cap-drop")],
  ...[value("--cidfile"), flag("-d", "--detach"), value("--dns"), value("--dns-domain"), value("--dns-option")],
  ...[value("--dns-search"), value("--entrypoint"), flag("--init"), value("--init-image"), value("-k", "--kernel")],
  ...[value("-l", "--label"), value("--mount"), value("--name"), value("--network"), flag("--no-dns"), value("--os")],
  ...[value("-p", "--publish"), value("--platform"), value("--publish-socket"), flag("--read-only")],
  ...[flag("--rm", "--remove"), flag("--rosetta"), value("--runtime"), flag("--ssh"), value("--shm-size")],
  ...[value("--tmpfs"), value("-v", "--volume"), flag("--virtualization"), value("--scheme"), value("--progress")],
  value("--max-concurrent-downloads"),
];
const format = value("--format");

export const commands = {
  run: { options: run, passesThrough: true },
  list: { options: [flag("-a", "--all"), format, flag("-q", "--quiet")] },
  inspect: { options: [] },
  delete: { options: [flag("-a", "--all"), flag("-f", "--force")] },
  "image inspect": { options: [] },
  "image pull": {
    options: [value("--scheme"), value("--progress"), value("-a", "--arch"), value("--os"), value("--platform")],
  },
  "system status": { options: [value("-p", "--prefix"), format] },
  "system version": { options: [format] },
};

export class UsageError extends Error {}

/** Each option's values by its last name, without dashes; flags have `true`. */
export function parse(name, words) {
  const { options, passesThrough = false } = commands[name];
  const known = [...options, flag("--debug")];
  const found = {};
  const rest = [];
  for (let at = 0; at < words.length; at++) {
    const [word, joined] = words[at].startsWith("--") ? words[at].split(/=(.*)/s) : [words[at]];
    if (!word.startsWith("-") || word === "-") {
      rest.push(words[at]);
      if (passesThrough) return { found, rest: [...rest, ...words.slice(at + 1)] };
      continue;
    }
    const option = known.find(({ names }) => names.includes(word));
    if (option === undefined) throw new UsageError(`Unknown option '${word}'`);
    const key = option.names.at(-1).replace(/^-+/, "");
    if (!option.takesValue) {
      if (joined !== undefined) throw new UsageError(`The option '${word}' does not take any value`);
      found[key] = true;
      continue;
    }
    const given = joined ?? words[++at];
    if (given === undefined) throw new UsageError(`Missing value for '${word} <${key}>'`);
    found[key] = [...(found[key] ?? []), given];
  }
  return { found, rest };
}
