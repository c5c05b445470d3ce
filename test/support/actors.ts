/**
 * Who runs agentkernel in a test: root, and an ordinary user that the test run creates (test/support/test-user.ts).
 * On a machine where the tests run as an ordinary user, that user is the only actor.
 */
import { chownSync, mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { chosenBackend, isThorough } from "./chosen-backend.js";
import { testFolder } from "./test-folder.js";
import { testSettings } from "./test-settings.js";
import { testUser } from "./test-user.js";

export interface Actor {
  readonly name: "root" | "user";
  readonly uid: number;
  readonly gid: number;
  /** The actor's home folder: a temporary one, never the real one. */
  readonly home: string;
  /** Where the built command line lies, readable by the actor. */
  readonly dist: string;
  /** Another program than that of `dist`, and words before all others. */
  readonly program?: readonly string[];
  /** Variables that the actor has beside the usual ones. */
  readonly variables?: Readonly<Record<string, string>>;
  /** A new empty folder that belongs to the actor. */
  folder(prefix?: string): string;
  /** The same, in a folder of the actor's, who may therefore remove it. */
  ownFolder(prefix?: string): string;
}

const base = testFolder();

/** What the actor calls: the program, and words before all others. */
export function programOf({ dist, program }: Actor): readonly string[] {
  return program ?? [process.execPath, join(dist, "agentkernel.js")];
}

export function environmentOf({ home, variables }: Actor): Readonly<Record<string, string>> {
  // What is usually said once a day is a part of every answer here.
  return { HOME: home, LANG: "C.UTF-8", AGENTKERNEL_REMARKS: "always", ...testSettings, ...variables };
}

function makeActor(name: Actor["name"], uid: number, gid: number): Actor {
  const own = (path: string) => {
    if (process.getuid?.() === 0) chownSync(path, uid, gid);
    return path;
  };
  const home = join(base, `home-${name}`);
  mkdirSync(home, { recursive: true });
  own(home);
  return {
    name,
    uid,
    gid,
    home,
    dist: join(base, "dist"),
    folder: (prefix = "project") => own(mkdtempSync(join(base, `${prefix}-`))),
    ownFolder: (prefix = "own") => own(mkdtempSync(join(home, `${prefix}-`))),
  };
}

/** Whose rights count in an engine's sandboxes is the engine's choice, so one actor does; on gvisor, one in short. */
const everybody = chosenBackend === null || (chosenBackend.name === "gvisor" && isThorough);

export const actors: readonly Actor[] =
  process.getuid?.() === 0
    ? [makeActor("root", 0, 0), ...(everybody ? [makeActor("user", testUser().uid, testUser().gid)] : [])]
    : [makeActor("user", process.getuid?.() ?? -1, process.getgid?.() ?? -1)];

export const root = actors.find((actor) => actor.name === "root");
export const user = actors.find((actor) => actor.name === "user");
