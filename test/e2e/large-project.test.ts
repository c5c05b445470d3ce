/** 100,000 files and a gigabyte as a copy-on-write view: whole inside, untouched outside. How fast is bench's business. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { actors, root } from "../support/actors.js";
import { runIn } from "../support/run-cli.js";

const GIB = 1 << 30;
const make = [
  "for d in $(seq 100); do mkdir d$d; (cd d$d && seq -f f%g 1000 | xargs touch); done",
  "echo SECRET=1 > d50/.env",
  `truncate -s ${GIB} big`,
].join("; ");

const use = [
  "find . -type f | wc -l",
  "stat -c %s big",
  "cat d50/.env 2> /dev/null",
  "echo x > d7/f7 && echo y > new && rm -r d9",
  "printf z | dd of=big conv=notrunc bs=1 seek=1000000000 2> /dev/null",
  "tail -c +1000000001 big | head -c 1",
  "find . -type f | wc -l",
].join("; ");

describe.each(actors)("as $name", (actor) => {
  const path = actor.folder("large");
  afterEach(() => {
    if (root !== undefined) execFileSync("umount", [path]);
  });

  it("a large project is all there and all writable, and nothing is written on the host", async () => {
    // In memory where that can be had: how long a disk takes to make so many files is nobody's question.
    const options = `size=256m,nr_inodes=300k,uid=${actor.uid},gid=${actor.gid},mode=755`;
    if (root !== undefined) execFileSync("mount", ["-t", "tmpfs", "-o", options, "none", path]);
    const identity = root === undefined ? {} : { uid: actor.uid, gid: actor.gid };
    const shell = (script: string) => execFileSync("sh", ["-c", script], { cwd: path, encoding: "utf8", ...identity });
    shell(make);
    const before = shell("find . -type f | wc -l; stat -c '%n %s %Y %Z' . big d7/f7 d9/f1");
    const result = await runIn(actor, ["--memory", "4g", "sh", "-c", use], { cwd: path });
    expect(result.stdout).toBe(`100001\n${GIB}\nz99002\n`);
    expect(shell("find . -type f | wc -l; stat -c '%n %s %Y %Z' . big d7/f7 d9/f1")).toBe(before);
    expect(statSync(join(path, "d7", "f7")).size).toBe(0);
  });
});
