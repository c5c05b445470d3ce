// Which test file runs when, and in which world. Pure.
//
// A world (test-world.sh) takes the next file when it is free, the longest first, so that none is left alone with a long
// one at the end. The table below binds files to each other.

/** Of files that have never been timed, in milliseconds. */
const USUAL_MS = 8_000;

/** The world that has the machine's network. */
export const MACHINE = 0;

/**
 * Files that are never beside each other: the first world that takes one of a group takes the rest, one after another.
 * Everything else may run beside them.
 */
export const groups = [
  {
    name: "fetching",
    files:
      /^test\/e2e\/(agents-(at-work|claude-hook|inside)|claude-agent-sdk|code-mode-tasks|e2b-clients|http-fuzz|published-sdk)\.test\.ts$/,
    reason: "asks npm or PyPI for programs, into one folder of the checkout",
  },
  {
    name: "fetching",
    files: /^test\/e2e\/(sdk-(browser|conformance)|network-clients)\.test\.ts$/,
    reason: "builds with the clients of other languages, which may fetch packages, into one folder of the checkout",
  },
  {
    name: "releases",
    files: /^test\/e2e\/install-(npm|beside-others|release|script)\.test\.ts$/,
    reason: "uses one release, which takes a minute to make",
  },
  {
    name: "load",
    files: /^test\/faults\/(many-(connections|sandboxes)|network-load|exhausted-host)\.test\.ts$/,
    reason: "holds times under load, which a second load beside it would miss",
  },
  {
    name: "docker",
    project: "security-docker",
    reason: "has one engine, started by the vitest that runs the project's first file",
  },
  {
    name: "podman",
    project: "security-podman",
    reason: "has one engine, started by the vitest that runs the project's first file",
  },
  {
    name: "machines",
    project: "security-microvm",
    reason: "emulates machines, which computes all the time: a second beside it would take what others' times need",
  },
  {
    name: "machines",
    files: /^test\/(contract\/microvm|e2e\/setup-microvm|faults\/microvm[\w-]*)\.test\.ts$/,
    reason: "emulates machines, as above, and saves them in one folder of the checkout",
  },
];

/** Null for a file that any world may take at any time. */
export function groupOf({ project, file }) {
  return groups.find((one) => one.project === project || (one.files?.test(file) ?? false))?.name ?? null;
}

/** As many as are of use: waiting is most of what tests do. */
export function worldsFor({ cores, memoryGiB, asked }) {
  if (asked !== undefined && asked !== "") {
    if (!/^[1-9]\d?$/.test(asked)) throw new Error(`AGENTKERNEL_TEST_WORLDS is a number from 1 to 99, not "${asked}"`);
    return Number(asked);
  }
  return Math.max(1, Math.min(2 * cores, Math.floor(memoryGiB / 3)));
}

/** What is known of how long files take. @param times as in .build/test-times.json, or undefined */
export function weightsOf(times, table) {
  const weights = new Map(Object.entries(table).map(([key, seconds]) => [key, seconds * 1000]));
  for (const { name, files = [] } of times?.steps ?? []) {
    for (const { file, project, elapsedMs } of files) weights.set(`${project ?? name} ${file}`, elapsedMs);
  }
  return weights;
}

/** What is still to be run, taken a file at a time. */
export class Queue {
  #left;
  /** Group → world that takes its files. */
  #owners = new Map([["fetching", MACHINE]]);

  /** @param files each {project, file}, the file's path within the checkout */
  constructor(files, weights) {
    this.#left = files
      .map(({ project, file }) => ({
        project,
        file,
        weightMs: weights.get(`${project} ${file}`) ?? USUAL_MS,
        group: groupOf({ project, file }),
      }))
      .sort((one, other) => other.weightMs - one.weightMs);
  }

  get length() {
    return this.#left.length;
  }

  get weightMs() {
    return this.#left.reduce((total, { weightMs }) => total + weightMs, 0);
  }

  /** The next file for this world, or undefined where there is nothing left that it may take. */
  take(world) {
    const chosen = this.#left
      .filter(({ group }) => (this.#owners.get(group) ?? world) === world)
      .reduce(
        (best, one) => (best === undefined || this.#urgency(one, world) > this.#urgency(best, world) ? one : best),
        undefined,
      );
    if (chosen === undefined) return undefined;
    this.#left.splice(this.#left.indexOf(chosen), 1);
    if (chosen.group !== null) this.#owners.set(chosen.group, world);
    return chosen;
  }

  /** What only this world can take comes first; a group's files are as long as all of them together. */
  #urgency({ weightMs, group }, world) {
    if (group === null) return weightMs;
    if (this.#owners.get(group) === world) return Number.MAX_SAFE_INTEGER / 2 + weightMs;
    return this.#left.reduce((total, one) => total + (one.group === group ? one.weightMs : 0), 0) + weightMs / 1e6;
  }
}

/** One line: how far it is, and how long it may still take. */
export function progressLine({ done, total, failed, doneWeightMs, leftWeightMs, elapsedMs, running }) {
  const counts = `${done}/${total} files, ${failed} failed`;
  const left = doneWeightMs === 0 ? "" : `, about ${duration((elapsedMs / doneWeightMs) * leftWeightMs)} left`;
  return `${duration(elapsedMs)}  ${counts}${left}: ${running.join(" ")}`;
}

function duration(ms) {
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.floor((ms % 60_000) / 1000);
  return `${minutes}:${String(seconds).padStart(2, "0")}`;
}

/** What runs a failed test alone. @param title its full name, or null for the whole file */
export function commandFor(project, file, title) {
  const words = ["npm", "test", "--", project, file];
  if (title !== null) words.push("-t", title.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return words.map(quoted).join(" ");
}

function quoted(word) {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
