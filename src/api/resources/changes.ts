/** What named sandboxes changed in their copies of a project: listed, as a patch, and taken over into the project. */
import type { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { appliedPaths } from "../../core/applied-paths.js";
import type { ApplyReport, PersistentChanges, ProjectChange } from "../../core/changes.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { agreedTo, projectPaths } from "../../core/project-paths.js";
import { refuseToApplyToHome } from "../../request/home-folders.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import type { Caller } from "../auth/caller.js";
import { type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { data, type Reply } from "../http/reply.js";
import type { ChangeAnswer, DiffAnswer } from "../operations/changes.js";
import type { RunResult } from "../operations/runs.js";

type ApplyAnswer = NonNullable<RunResult["changes"]>;

export const diffSandbox: HandlerFor<"diffSandbox"> = async ({ caller, params, query, signal }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const paths = inField("path", () => projectPaths(query.path === undefined ? [] : [query.path]));
  if (query.format === "patch") return await patchOf(sandbox, { caller, paths, signal, backing });
  return data(await backing.places.at(caller, signal, () => changesSeen(sandbox, paths, signal)));
};

export async function changesSeen(
  sandbox: Sandbox,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<DiffAnswer> {
  const found = await changesOf(sandbox).list(sandbox.stateDir, { paths }, signal);
  return {
    changes: found.changes.map(changeAnswer).sort((one, other) => (one.path < other.path ? -1 : 1)),
    truncated: found.omitted > 0,
  };
}

interface PatchOptions {
  readonly caller: Caller;
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
  readonly backing: Backing;
}

/** It is under way when this resolves, so that what stands against it is an answer of its own. */
async function patchOf(sandbox: Sandbox, { caller, paths, signal, backing }: PatchOptions): Promise<Reply> {
  await sandbox.recordFile({ operation: "read", path: "/workspace", bytes: null, verdict: "allowed" });
  const opened = deferred<Readable>();
  const held = backing.places.at(caller, signal, async () => {
    // What cannot be in a patch is in the list, with the reason.
    const parts = changesOf(sandbox)
      .patch(sandbox.stateDir, { paths }, () => {}, signal)
      [Symbol.asyncIterator]();
    const first = await parts.next();
    const content = Readable.from(from(first, parts), { objectMode: false });
    opened.resolve(content);
    await new Promise<void>((resolve) => content.once("close", resolve));
  });
  held.catch(opened.reject);
  return { kind: "bytes", type: "text/x-diff", content: await opened.promise };
}

async function* from(first: IteratorResult<Buffer>, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, void> {
  try {
    for (let part = first; part.done !== true; part = await rest.next()) yield part.value;
  } finally {
    await rest.return?.();
  }
}

export const applySandbox: HandlerFor<"applySandbox"> = async ({ body, caller, params, signal }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  if (!caller.isTrusted) {
    throw new AgentKernelError("forbidden", "this caller may not change folders of the host", {
      hint: "use a key with the scope admin, or ask as the same user on the same machine",
    });
  }
  const {
    paths: words = [],
    yes_to: agreed = [],
    force: overridesHost = false,
    dry_run: isRehearsal = false,
  } = body ?? {};
  const paths = inField("paths", () => projectPaths(words));
  if (overridesHost && paths.length === 0) {
    throw new AgentKernelError("invalid_argument", "force overwrites changes of the host, and so needs paths", {
      hint: "name them in paths; the diff shows which are in conflict",
      details: { field: "paths" },
    });
  }
  const changes = changesOf(sandbox);
  if (sandbox.record.projectDir !== null) refuseToApplyToHome(sandbox.record.projectDir);
  const report = await backing.places.at(caller, signal, async () => {
    if (!isRehearsal) {
      await sandbox.recordFile({ operation: "read", path: "/workspace", bytes: null, verdict: "allowed" });
    }
    const yes = inField("yes_to", () => agreedTo(agreed));
    const options = { paths, isRehearsal, overridesHost, ...yes };
    const done = await changes.apply(sandbox.stateDir, options, signal);
    if (!isRehearsal) await sandbox.recordFile(appliedPaths(done));
    return done;
  });
  return data(applyAnswer(report));
};

function changesOf({ name, changes, record }: Sandbox): PersistentChanges {
  if (!record.hasRun) {
    throw new AgentKernelError("conflict", `the sandbox ${name} has never run, and so has changed nothing`, {
      hint: `start it: POST /sandboxes/${name}/start`,
    });
  }
  if (changes !== undefined) return changes;
  throw new AgentKernelError("unsupported", `the backend of ${name} cannot tell what a sandbox changed`, {
    hint: "read the files that you want instead",
  });
}

/** Whose fault it is, for callers that look. */
function inField<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AgentKernelError)) throw error;
    const { code, message, hint } = error;
    throw new AgentKernelError(code, message, { ...(hint === undefined ? {} : { hint }), details: { field } });
  }
}

function changeAnswer({
  path,
  change,
  from: earlier,
  now,
  before,
  conflict,
  refused,
  review,
}: ProjectChange): ChangeAnswer {
  const type = (now ?? before)?.type ?? "other";
  return { path, change, renamed_from: earlier, type, size_bytes: now?.sizeBytes ?? null, conflict, refused, review };
}

function applyAnswer({ changes, omitted }: ApplyReport): ApplyAnswer {
  const { written, deleted } = appliedPaths({ changes });
  const paths = (some: readonly ProjectChange[]) => some.map(({ path }) => path).sort();
  return {
    written: [...written],
    deleted: [...deleted],
    conflicts: paths(changes.filter(({ conflict, refused }) => conflict !== null && refused === null)),
    refused: paths(changes.filter(({ refused }) => refused !== null)),
    held: paths(changes.filter(({ review }) => review)),
    held_as: null,
    omitted,
    repositories: [],
  };
}
