/**
 * Which test cites which threat on which backend. A test cites by the title of a `describe`: "F1 …" speaks of the
 * linux backend, "F1 on docker …" of another; what the suite attacks on others, elsewhere/table.ts says. Reads the tests
 * as text and runs none of them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engineNames } from "../support/chosen-backend.js";
import { exemptions, notThere } from "./elsewhere/exemptions.js";
import { attacks } from "./elsewhere/table.js";

/** Backends that the project has. An id that does not apply to one of them needs its reason in `notOn`. */
const backends = ["linux", ...engineNames] as const;

type BackendName = (typeof backends)[number];

/** Threats that cannot exist on a backend, and why. */
export const notOn: readonly { readonly id: string; readonly backend: BackendName; readonly reason: string }[] =
  notThere.flatMap(({ on, ids, reason }) => on.flatMap((backend) => ids.map((id) => ({ id, backend, reason }))));

interface Citation {
  readonly id: string;
  readonly backend: string;
  readonly file: string;
}

const TITLE = /\bdescribe\b[^"'`;]*\(\s*["'`]([A-Z]\d+)(?: on ([a-z]+))?[ :]/g;

export function citationsIn(text: string, file: string): readonly Citation[] {
  return [...text.matchAll(TITLE)].map(([, id = "", backend = "linux"]) => ({ id, backend, file }));
}

export function citations(folder: string): readonly Citation[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .flatMap((name) => citationsIn(readFileSync(join(folder, name), "utf8"), name));
}

/** What the suite attacks on the other backends, but for what is exempt there. */
export function citationsElsewhere(): readonly Citation[] {
  return engineNames.flatMap((backend) =>
    attacks
      .filter(({ file, tests }) => tests.some((test) => !isExempt(backend, file, test)))
      .map(({ id, file }) => ({ id, backend, file })),
  );
}

function isExempt(backend: string, file: string, test: string): boolean {
  return exemptions.some(
    (one) =>
      one.file === file &&
      one.on.some((name) => name === backend) &&
      (one.tests === undefined || one.tests.some((part) => test.includes(part) || part.includes(test))),
  );
}

interface Uncovered {
  readonly id: string;
  readonly backend: BackendName;
}

/** Ids and backends with neither a test nor a reason. */
export function uncovered(
  ids: readonly string[],
  cited: readonly Citation[],
  pendingIds: readonly string[],
): readonly Uncovered[] {
  return ids
    .filter((id) => !pendingIds.includes(id))
    .flatMap((id) => backends.map((backend) => ({ id, backend })))
    .filter(({ id, backend }) => !cited.some((one) => one.id === id && one.backend === backend))
    .filter(({ id, backend }) => !notOn.some((one) => one.id === id && one.backend === backend));
}
