/** An ordinary user with subordinate ids, made once on the machine that the tests run on (as root). */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const NAME = "agentkernel-test";

export function testUser(): { readonly uid: number; readonly gid: number } {
  return find() ?? create();
}

function find(): { uid: number; gid: number } | null {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${NAME}:`));
  if (line === undefined) return null;
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

function create(): { uid: number; gid: number } {
  try {
    execFileSync("useradd", ["--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/sh", NAME]);
  } catch (error) {
    // Another test process may have been first.
    const made = find();
    if (made === null) throw error;
    return made;
  }
  const made = find();
  if (made === null) throw new Error(`useradd did not make the user ${NAME}`);
  return made;
}
