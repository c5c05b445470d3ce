/**
 * Who runs agentkernel in a test: root, and an ordinary user that the test run creates (test/support/test-user.ts).
 * On a machine where the tests run as an ordinary user, that user is the only actor.
 */
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { testUser } from "./test-user.js";

export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface Actor {
  readonly name: "root" | "user";
  readonly uid: number;
  readonly gid: number;
  /** The actor's home folder: a temporary one, never the real one. */
  readonly home: string;
  /** Where the built command line lies, readable by the actor. */
  readonly dist: string;
  /** A new empty folder that belongs to the actor. */
  folder(prefix?: string): string;
}

const base = mkdtempSync(join(tmpdir(), "agentkernel-test-"));
chmodSync(base, 0o755);
process.once("exit", () => rmSync(base, { recursive: true, force: true }));

let staged: string | null = null;

/** A copy of the build that every user can read, whatever the rights on the checkout are. */
export function stagedBuild(): string {
  if (staged === null) {
    staged = join(base, "dist");
    cpSync(join(repository, "dist"), staged, { recursive: true });
  }
  return staged;
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
    dist: stagedBuild(),
    folder: (prefix = "project") => own(mkdtempSync(join(base, `${prefix}-`))),
  };
}

export const actors: readonly Actor[] =
  process.getuid?.() === 0
    ? [makeActor("root", 0, 0), makeActor("user", testUser().uid, testUser().gid)]
    : [makeActor("user", process.getuid?.() ?? -1, process.getgid?.() ?? -1)];

export const root = actors.find((actor) => actor.name === "root");
export const user = actors.find((actor) => actor.name === "user");
