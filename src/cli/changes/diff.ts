/** `diff NAME [path...]`: what a sandbox changed in its copy of the project. */
import type { ChangeList } from "../../core/changes.js";
import { escapeJson, escapeText } from "../../core/escape.js";
import { projectPaths } from "../../core/project-paths.js";
import type { Invocation } from "../../invocation/index.js";
import { interruptible } from "../images/interruptible.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeOut } from "../output.js";
import { changesOf, type FindSandbox } from "../sandbox-files.js";
import { untilGone } from "../until-gone.js";
import { changeLine } from "./list-text.js";
import { onlyOne } from "./only-one.js";
import { nameAndPaths, remarkOnRest } from "./selection.js";
import { shownChange } from "./shown-change.js";
import { statText } from "./stat-text.js";
import { writePatch } from "./write-patch.js";

export async function diff(parsed: ParsedOptions, invocation: Invocation, find: FindSandbox): Promise<number> {
  const form = onlyOne(parsed, ["patch", "stat", "name-only", "json"]);
  const { name, words } = nameAndPaths(parsed, "diff");
  const paths = projectPaths(words);
  const sandbox = await find(name);
  const changes = changesOf(sandbox);
  return await interruptible(invocation, "the comparison", async (stopped) => {
    const signal = untilGone(invocation, stopped);
    if (form === "patch") {
      const note = (text: string) => void writeErr(invocation, `agentkernel: ${text}\n`);
      await writePatch(changes.patch(sandbox.stateDir, { paths }, note, signal), invocation.stdout);
      return 0;
    }
    const found = await changes.list(sandbox.stateDir, { paths, countsLines: form === "stat" }, signal);
    await remarkOnRest(invocation, found);
    return await writeOut(invocation, textOf(form, name, found));
  });
}

function textOf(form: string | null, name: string, found: ChangeList): string {
  const { changes, projectDir, synced, omitted, unmatched } = found;
  switch (form) {
    case "json": {
      const data = { name, project: projectDir, synced, changes: changes.map(shownChange), omitted, unmatched };
      return `${escapeJson(JSON.stringify({ success: true, data }))}\n`;
    }
    case "stat":
      return statText(changes);
    case "name-only":
      return changes.map(({ path }) => `${escapeText(path)}\n`).join("");
    default:
      return changes.map(changeLine).join("");
  }
}
