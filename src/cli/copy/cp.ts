/** `cp SOURCE TARGET`: files and folders into, out of and between sandboxes. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeJson, escapeText } from "../../core/escape.js";
import type { HideRule } from "../../core/policy.js";
import type { TreeReport } from "../../guest/index.js";
import type { Invocation } from "../../invocation/index.js";
import { parseSizeMiB, ranges } from "../../policy/resources.js";
import { type CopyEnd, copyTree, DEFAULT_MAX_BYTES, DEFAULT_MAX_ENTRIES } from "../../runtime/copy/index.js";
import { interruptible } from "../images/interruptible.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeErr, writeOut } from "../output.js";
import type { FindSandbox } from "../sandbox-files.js";
import { untilGone } from "../until-gone.js";
import { type NamedEnd, namedEnd } from "./ends.js";
import { copyProgress } from "./progress.js";

export async function cp(parsed: ParsedOptions, invocation: Invocation, find: FindSandbox): Promise<number> {
  const [source, target, ...more] = parsed.rest.map((word) => namedEnd(word, invocation.cwd));
  if (source === undefined || target === undefined || more.length > 0) {
    throw usage("cp needs a source and a target");
  }
  if (source.at === "host" && target.at === "host") throw usage("neither of the two is in a sandbox");
  const size = parsed.values.get("max-size")?.[0];
  const maxBytes =
    size === undefined ? DEFAULT_MAX_BYTES : parseSizeMiB("--max-size", size, ranges["resources.diskMiB"]) * 2 ** 20;
  const json = parsed.flags.has("json");
  const progress = copyProgress(json, invocation);
  return await interruptible(invocation, "the copy", async (stopped) => {
    const signal = untilGone(invocation, stopped);
    const onProgress = (bytes: number) => progress.update(bytes);
    const copy = async (from: CopyEnd, to: CopyEnd, hide: readonly HideRule[]) =>
      await copyTree(from, to, { hide, maxBytes, maxEntries: DEFAULT_MAX_ENTRIES, signal, onProgress });
    try {
      const report = await withEnd(source, "read", find, (from) =>
        withEnd(target, "write", find, (to, hide) => copy(from, to, hide)),
      );
      progress.clear();
      return await tell(invocation, report, json);
    } finally {
      progress.clear();
    }
  });
}

async function tell(invocation: Invocation, report: TreeReport, json: boolean): Promise<number> {
  if (json) return await writeOut(invocation, `${escapeJson(JSON.stringify(shownReport(report)))}\n`);
  for (const { path, reason } of report.notes) {
    await writeErr(invocation, `agentkernel: not copied: ${escapeText(path)}: ${escapeText(reason)}\n`);
  }
  if (report.omitted > 0) await writeErr(invocation, `agentkernel: not copied: ${report.omitted} more\n`);
  return 0;
}

async function withEnd<T>(
  end: NamedEnd,
  operation: "read" | "write",
  find: FindSandbox,
  use: (end: CopyEnd, hide: readonly HideRule[]) => Promise<T>,
): Promise<T> {
  if (end.at === "host") return await use(end, []);
  const sandbox = await find(end.sandbox);
  return await sandbox.withFiles(async (files) => {
    await sandbox.record({ operation, path: end.path, bytes: null, verdict: "allowed" });
    return await use({ at: "sandbox", path: end.path, files }, sandbox.hide);
  });
}

function usage(message: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", message, {
    hint: "write agentkernel cp SOURCE TARGET, one of them as NAME:/path; ./a:b is a file of the host's with a colon",
  });
}

function shownReport({ files, folders, links, bytes, notes, omitted }: TreeReport): object {
  return { success: true, data: { files, folders, links, bytes, not_copied: notes, omitted } };
}
