/** A synced project of which the user changes files while a sandbox works on the same ones: neither version is lost. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { makeProject, type Project } from "../support/project.js";
import { type CliResult, runCli } from "../support/run-cli.js";

const files = { both: "old\n", gone: "old\n", "folder/a": "old\n", fine: "old\n" };
const inside = "echo sandbox > both; rm gone; rm -r folder; echo sandbox > folder; echo sandbox > fine";
const conflicts = ["both", "folder", "gone"];
const HELD_NAME = /agentkernel apply (held-[0-9a-f]{12}) --force PATH/;

function changeOnHost({ path }: Project): void {
  for (const name of ["both", "gone", "folder/a"]) writeFileSync(join(path, name), "host\n");
}

/** Runs the script, and then `change` while the sandbox waits for its end. */
async function clash(
  actor: Actor,
  project: Project,
  {
    words = [],
    script = inside,
    change = changeOnHost,
  }: { words?: string[]; script?: string; change?: typeof changeOnHost },
): Promise<CliResult> {
  const signals = makeProject(actor, {}).path;
  const whole = `${script}\n touch /signals/ready; until test -e /signals/go; do sleep 0.02; done`;
  const mounted = ["run", "--no-network", "--workspace", "sync", "--mount", `${signals}:/signals`];
  const ended = runCli(actor, [...mounted, ...words, "sh", "-ec", whole], { cwd: project.path });
  const isReady = expect.poll(() => existsSync(join(signals, "ready")), { interval: 20 }).toBe(true);
  await Promise.race([isReady, ended]);
  change(project);
  writeFileSync(join(signals, "go"), "");
  return await ended;
}

function expectHostsVersions(project: Project): void {
  expect(project.content()).toEqual({
    both: "host\n",
    gone: "host\n",
    "folder/": "",
    "folder/a": "host\n",
    fine: "sandbox\n",
  });
}

describe.each(actors)("as $name", (actor) => {
  const own = () => clientOf({ ...actor, variables: { ...actor.variables, XDG_STATE_HOME: actor.ownFolder("state") } });

  it("run: the sandbox's versions are kept and told, with status 0", async () => {
    const [client, project] = [own(), makeProject(actor, files)];
    const cli = (...words: string[]) => runCli(client, words, { cwd: project.path });
    try {
      const ran = await clash(client, project, {});
      expect(ran.status).toBe(0);
      expect(ran.stderr).toContain(`not carried over, changed on the host meanwhile: ${conflicts.join(", ")};`);
      expectHostsVersions(project);
      const name = HELD_NAME.exec(ran.stderr)?.[1] ?? "none";
      expect((await cli("diff", name)).stdout).toContain("M both (conflict: changed on the host since)\n");
      expect((await cli("diff", "--patch", name, "both")).stdout).toContain("\n-host\n+sandbox\n");
      const records = (await cli("audit", "list", "--type", "sandbox.end", "--json")).stdout;
      expect(records).toContain(name);
      expect((await cli("apply", name)).status).toBe(1);
      expectHostsVersions(project);
      expect((await cli("apply", name, "--force", "both", "gone", "folder")).status).toBe(0);
      expect(project.content()).toEqual({ both: "sandbox\n", folder: "sandbox\n", fine: "sandbox\n" });
      expect((await cli("diff", name)).stderr).toContain("nothing is held");
    } finally {
      await cli("daemon", "stop", "--all");
    }
  });

  it("run --fail-on-conflict: the status says so, and only where there are conflicts", async () => {
    const [client, project] = [own(), makeProject(actor, files)];
    const run = (...words: string[]) =>
      runCli(client, ["run", "--no-network", "--workspace", "sync", "--fail-on-conflict", ...words], {
        cwd: project.path,
      });
    try {
      const ran = await clash(client, project, { words: ["--fail-on-conflict"] });
      expect(ran).toMatchObject({ status: 1, stderr: expect.stringMatching(HELD_NAME) });
      expectHostsVersions(project);
      expect((await run("true")).status).toBe(0);
      expect((await run("sh", "-c", "exit 3")).status).toBe(3);
      expect((await run("--keep", "true")).stderr).toContain("agentkernel stop --fail-on-conflict");
    } finally {
      await runCli(client, ["daemon", "stop", "--all"]);
    }
  });

  it("run --json: conflicts, and the name under which they are kept", async () => {
    const [client, project] = [own(), makeProject(actor, files)];
    const ran = await clash(client, project, { words: ["--json", "--fail-on-conflict"] });
    expect(ran.status).toBe(1);
    expect(JSON.parse(ran.stdout).data.changes).toMatchObject({
      conflicts,
      held: [],
      held_as: expect.stringMatching(/^held-[0-9a-f]{12}$/),
    });
  });

  it("stop of a sandbox that stays: the same, and info still tells", async () => {
    const [client, project] = [own(), makeProject(actor, files)];
    const cli = (...words: string[]) => runCli(client, words, { cwd: project.path });
    try {
      expect((await cli("create", "--no-network", "--workspace", "sync", "box")).status).toBe(0);
      expect((await cli("exec", "box", "sh", "-c", inside)).status).toBe(0);
      changeOnHost(project);
      const stopped = await cli("stop", "--fail-on-conflict", "box");
      expect(stopped).toMatchObject({ status: 1, stdout: "box\n" });
      expect(stopped.stderr).toContain("box: sync: wrote 1 path in the project");
      expect(stopped.stderr).toContain("box: not carried over, changed on the host meanwhile: both, folder, gone;");
      const name = HELD_NAME.exec(stopped.stderr)?.[1] ?? "none";
      expectHostsVersions(project);
      expect((await cli("info", "box")).stdout).toContain(name);
      await cli("remove", "box");
      expect((await cli("diff", name)).stdout).toContain("M both (conflict: changed on the host since)\n");
      expect((await cli("start", "box")).status).toBe(125);
    } finally {
      await cli("daemon", "stop", "--all");
    }
  });

  it("what the host made and removed meanwhile", async () => {
    const [client, project] = [own(), makeProject(actor, { "d/old": "old\n" })];
    const script = "echo sandbox > d/old; mkdir e; echo sandbox > e/new; echo sandbox > made";
    const change = ({ path }: Project) => {
      rmSync(join(path, "d"), { recursive: true });
      writeFileSync(join(path, "e"), "host\n");
      mkdirSync(join(path, "made"));
      writeFileSync(join(path, "made/in"), "host\n");
    };
    const ran = await clash(client, project, { script, change });
    expect(ran.stderr).toContain("changed on the host meanwhile: e, e/new, made;");
    const left = { e: "host\n", "made/": "", "made/in": "host\n" };
    expect(project.content()).toEqual({ "d/": "", "d/old": "sandbox\n", ...left });
  });

  it("names that look like our temporary files are the user's own", async () => {
    const client = own();
    const before = { ".agentkernel-carry-x/in": "host\n", ".agentkernel-carry-999999999": "host\n" };
    const project = makeProject(actor, { ...before, fine: "old\n" });
    const script =
      "echo sandbox > .agentkernel-carry-x/in; echo sandbox > .agentkernel-carry-notes; echo sandbox > fine";
    const ran = await runCli(client, ["run", "--no-network", "--workspace", "sync", "sh", "-ec", script], {
      cwd: project.path,
    });
    expect(ran.status).toBe(0);
    expect(project.content()).toEqual({
      ".agentkernel-carry-x/": "",
      ".agentkernel-carry-x/in": "sandbox\n",
      ".agentkernel-carry-999999999": "host\n",
      ".agentkernel-carry-notes": "sandbox\n",
      fine: "sandbox\n",
    });
  });
});
