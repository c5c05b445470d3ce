/**
 * Remarks that would come with every run of a machine and a project as they are: no image without a network, no cgroup
 * without a delegation, how many files are hidden. They are said once a day, for each project, and the line names the setting. `--json` always has them.
 */
import { AgentKernelError } from "../../core/errors.js";
import { joinedPath } from "../../core/joined-path.js";
import { stateFolder } from "../../core/state-folders.js";
import type { Surroundings } from "../../core/surroundings.js";
import { readJson, writeJson } from "../../runtime/backends/proof-place.js";

const VARIABLE = "AGENTKERNEL_REMARKS";
const choices = ["daily", "always", "never"] as const;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Of other projects, too; what is forgotten is said once more. */
const MAX_KEPT = 64;
const recurring =
  /^(?:using this machine's own programs|cgroup: |\d+ files? hidden, |\d+ of them (?:is|are) tracked by git)/;

type StateLocation = Pick<Surroundings, "env" | "homeDir" | "cwd">;

/** Those of the lines that are to be said now. */
export function remarksNow(lines: readonly string[], place: StateLocation, nowMs = Date.now()): readonly string[] {
  const choice = choiceOf(place.env[VARIABLE]);
  if (choice === "always" || !lines.some((line) => recurring.test(line))) return lines;
  if (choice === "never") return lines.filter((line) => !recurring.test(line));
  const file = joinedPath(stateFolder(place.env, place.homeDir), "remarks.json");
  const said = new Map(shownSince(nowMs - DAY_MS, nowMs, readJson(file)));
  const fresh = lines.filter((line) => recurring.test(line) && !said.has(keyOf(line, place)));
  if (fresh.length > 0) {
    for (const line of fresh) said.set(keyOf(line, place), nowMs);
    writeJson(file, Object.fromEntries([...said].slice(-MAX_KEPT)));
  }
  return lines
    .filter((line) => !recurring.test(line) || fresh.includes(line))
    .map((line) => (fresh.includes(line) ? `${line} (said once a day; ${VARIABLE}=never: not at all)` : line));
}

function choiceOf(named: string | undefined): (typeof choices)[number] {
  if (named === undefined || named === "") return "daily";
  const choice = choices.find((each) => each === named);
  if (choice !== undefined) return choice;
  throw new AgentKernelError("invalid_argument", `${VARIABLE} is "${named}"`, { hint: `one of ${choices.join(", ")}` });
}

function keyOf(line: string, { cwd }: StateLocation): string {
  return `${cwd}\n${line}`;
}

/** In the order in which they were said. A clock that was set back makes them new. */
function shownSince(fromMs: number, nowMs: number, kept: unknown): readonly (readonly [string, number])[] {
  if (typeof kept !== "object" || kept === null) return [];
  return Object.entries(kept).flatMap(([key, at]) =>
    typeof at === "number" && at > fromMs && at <= nowMs ? [[key, at] as const] : [],
  );
}
