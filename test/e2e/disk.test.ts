/** How much a temporary sandbox may write, where that is, and what the user hears of it. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { killNow } from "../support/process-tree.js";
import { runIn } from "../support/run-cli.js";
import { testFolder } from "../support/test-folder.js";
import { WatchedCli } from "../support/watched-cli.js";

const fill = (mib: number) => `dd if=/dev/zero of=filler bs=1M count=${mib} 2>&1 | tail -1; exit 3`;
const failing = "dd if=/dev/zero of=filler bs=1M count=4000 2>&1 >/dev/null | cat >&2; exit 3";

/** Loop devices of files in our own state directories. */
const loops = () =>
  execFileSync("losetup", ["--all"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(testFolder()));

describe.each(actors)("as $name", (actor) => {
  it("a command that finds no space is explained, and one that goes on in spite of it is not", async () => {
    const cwd = actor.folder();
    const full = await runIn(actor, ["--memory", "1g", "--disk", "20m", "sh", "-c", failing], { cwd });
    expect(full.status).toBe(3);
    expect(full.stderr).toMatch(/no space was left: the disk limit of 20 MiB, .* raise it with --disk/);
    const fine = await runIn(actor, ["--disk", "20m", "sh", "-c", `(${failing}); true`], { cwd });
    expect(fine.stderr).not.toMatch(/no space was left/);
  });

  it("the limit that is printed is the one that holds", async () => {
    const flags = ["--memory", "256m", "--disk", "1g", "--workspace", "copy"];
    const script = "df -m /workspace | awk 'END { print $4 }'";
    const ran = await runIn(actor, [...flags, "sh", "-c", script], { cwd: actor.folder() });
    if (actor.name === "root") expect(ran.stderr).not.toMatch(/disk is/);
    else expect(ran.stderr).toMatch(/disk is 192 MiB, not 1024/);
    const mib = Number(ran.stdout);
    const said = actor.name === "root" ? 1024 : 192;
    expect(mib).toBeGreaterThan(said * 0.97);
    expect(mib).toBeLessThan(said * 1.03);
  });
});

describe.runIf(process.getuid?.() === 0)("disk beyond memory, for root", () => {
  const [actor] = actors;
  if (actor === undefined) throw new Error("there is nobody");
  const flags = ["--memory", "256m", "--disk", "1g"];

  it("a file is longer than memory, ends at the limit, and nothing of it is left", async () => {
    const cwd = actor.folder();
    const ran = await runIn(actor, [...flags, "sh", "-c", `${fill(700)}`], { cwd });
    expect(ran).toMatchObject({ status: 3, stdout: expect.stringContaining("734003200 bytes") });
    const full = await runIn(actor, [...flags, "sh", "-c", failing], { cwd });
    expect(full.stderr).toMatch(/No space left on device[\s\S]*the disk limit of 1024 MiB/);
    await expect.poll(loops).toEqual([]);
  });

  it("sync carries over what lies there", async () => {
    const cwd = actor.folder();
    const write = [...flags, "--workspace", "sync", "sh", "-c", "mkdir made; head -c 300000000 /dev/zero > made/file"];
    expect(await runIn(actor, write, { cwd })).toMatchObject({ status: 0 });
    expect(execFileSync("stat", ["-c", "%s %u", `${cwd}/made/file`], { encoding: "utf8" })).toBe("300000000 0\n");
  });

  it("nothing of it is left where everything is killed", async () => {
    const script = "head -c 9000000 /dev/zero > file; echo written; sleep 1000";
    const words = ["run", "--no-network", ...flags, "sh", "-c", script];
    const cli = new WatchedCli(actor, words, { cwd: actor.folder() });
    await cli.until(/written/);
    expect(loops()).toHaveLength(1);
    killNow(cli.pid);
    await expect.poll(loops).toEqual([]);
  });
});
