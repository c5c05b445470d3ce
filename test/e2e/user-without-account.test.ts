/** A user id that no passwd entry names, as containers with `--user 12345` and OpenShift have. */
import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Actor, user } from "../support/actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../support/daemon.js";
import { runCli } from "../support/run-cli.js";

const NO_ACCOUNT = 54_321;
const isRoot = process.getuid?.() === 0;

function stranger(): Actor {
  const base = user;
  if (base === undefined) throw new Error("there is no ordinary user to start from");
  const own = (path: string) => {
    chownSync(path, NO_ACCOUNT, NO_ACCOUNT);
    return path;
  };
  const folder = (prefix?: string) => own(base.folder(prefix));
  return { ...base, uid: NO_ACCOUNT, gid: NO_ACCOUNT, home: folder("home"), folder };
}

describe.runIf(isRoot)("a user id without an account", () => {
  const actor = isRoot ? stranger() : ({} as Actor);
  const daemons: TestDaemon[] = [];
  afterAll(() => Promise.all(daemons.map((daemon) => daemon.stop())));

  it("really has none", () => {
    expect(readFileSync("/etc/passwd", "utf8")).not.toMatch(new RegExp(`^[^:]*:[^:]*:${NO_ACCOUNT}:`, "m"));
  });

  it.each([
    ["copy", "runs commands on a copy of its project"],
    ["mount", "runs commands on its project itself"],
  ])("--workspace %s %s", async (workspace) => {
    const project = actor.folder();
    writeFileSync(join(project, "letter"), "hello\n");
    const words = ["run", "--no-network", "--workspace", workspace, "cat", "letter"];
    const result = await runCli(actor, words, { cwd: project });
    expect(result.stderr).not.toContain("fault of agentkernel");
    expect([result.status, result.stdout]).toEqual([0, "hello\n"]);
  });

  it("learns what works here, without a command that would name its account", async () => {
    expect((await runCli(actor, ["doctor"])).status).toBe(0);
    const setup = await runCli(actor, ["setup", "--json"]);
    expect(setup.status).toBe(0);
    const { missing } = (JSON.parse(setup.stdout) as { data: { missing: { commands: string[] }[] } }).data;
    expect(missing.flatMap(({ commands }) => commands).join("\n")).not.toContain("usermod");
  });

  it("has a daemon", async () => {
    const client = onlyThroughDaemon(clientOf(actor));
    const daemon = new TestDaemon(client);
    daemons.push(daemon);
    await daemon.ready;
    const result = await runCli(client, ["run", "--no-network", "echo", "through"], { cwd: actor.folder() });
    expect([result.status, result.stdout]).toEqual([0, "through\n"]);
  });

  it("is told to set HOME where nothing else names a home directory", async () => {
    const result = await runCli(actor, ["run", "--no-network", "true"], { cwd: actor.folder(), env: { HOME: "" } });
    expect(result.status).toBe(125);
    expect(result.stderr).toContain(`HOME is not set, and the user id ${NO_ACCOUNT} has no entry`);
    expect(result.stderr).toContain("hint: set HOME to a directory");
  });
});
