/** Calls beside those that a filter names: they would do the same, or nobody thought of them. */
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { compile, projectWith, runOutside } from "../support/process-programs.js";

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

type Answers = Readonly<Record<string, number>>;

function answers(stdout: string): Answers {
  const lines = stdout.trim().split("\n");
  return Object.fromEntries(lines.map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

const of = (kind: string, all: Answers) => Object.entries(all).filter(([name]) => name.startsWith(`${kind}:`));

async function outside(actor: Actor): Promise<Answers> {
  const file = `${actor.folder("modes")}/file`;
  const ran = await runOutside(actor, [compile("process/around-filter"), file]);
  expect(ran).toMatchObject({ status: 0, stderr: "" });
  return answers(ran.stdout);
}

async function inside(actor: Actor, ...options: readonly string[]): Promise<Answers> {
  const cwd = projectWith(actor, "process/around-filter");
  const ran = await runIn(actor, [...options, "./around-filter", "/workspace/file"], { cwd });
  expect(ran).toMatchObject({ status: 0 });
  return answers(ran.stdout);
}

describe.each(actors)("P9 calls around the filter, as $name", (actor) => {
  it("outside each reaches the kernel", async () => {
    const all = await outside(actor);
    // Which families there are is the kernel's configuration; VSOCK and the audit log are in nearly all.
    expect(of("pair", all).filter(([, errno]) => errno !== EAFNOSUPPORT).length).toBeGreaterThan(1);
    expect(of("memory", all).filter(([, errno]) => errno === EPERM || errno === ENOSYS)).toEqual([]);
    expect(of("unnamed", all).filter(([, errno]) => errno === ENOSYS)).toEqual([]);
    expect(of("mode", all).map(([, errno]) => errno)).toEqual([0, 0]);
  });

  it.each([
    ["by default", []],
    ["under restrictive", ["--profile", "restrictive"]],
  ])("inside, %s, no pair of sockets is of a family that no socket may have", async (_how, options) => {
    const all = await inside(actor, ...options);
    expect(of("pair", all).filter(([, errno]) => errno !== EAFNOSUPPORT)).toEqual([]);
    expect(of("memory", all).filter(([, errno]) => errno !== EPERM)).toEqual([]);
    expect(all["usual:unix"]).toBe(0);
  });

  it("inside, under restrictive, a call that no list names does not exist", async () => {
    const unnamed = of("unnamed", await inside(actor, "--profile", "restrictive"));
    expect(unnamed.length).toBe(6);
    expect(unnamed.filter(([, errno]) => errno !== ENOSYS)).toEqual([]);
  });

  it("inside, a live folder gets no set-id bits by the newest call either", async () => {
    const all = await inside(actor, "--workspace", "mount");
    expect(all["usual:open"]).toBe(0);
    expect(of("mode", all).filter(([, errno]) => errno !== EPERM)).toEqual([]);
  });
});
