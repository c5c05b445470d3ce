/**
 * What writes the user's files, widens what may be done, or was refused, has a record. Answers to questions about
 * destinations are attacked where questions can be put: test/e2e/network-ask and test/e2e/mcp-ask.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { makeProject } from "../../support/project.js";
import { runCli, runIn } from "../../support/run-cli.js";
import { inWorld } from "../../support/sandbox-world.js";

type Line = Readonly<Record<string, unknown>>;

describe.each(actors)("A10 as $name: something is done without a record", (actor) => {
  const own = () => ({ XDG_STATE_HOME: actor.folder("state") });
  const listed = async (env: Readonly<Record<string, string>>, type: string): Promise<readonly Line[]> => {
    const { stdout, stderr } = await runCli(actor, ["audit", "list", "--type", type, "--limit", "9999", "--json"], {
      env,
    });
    expect(stderr).toBe("");
    return JSON.parse(stdout).data;
  };

  it("every path that sync writes or deletes is named, however many there are", async () => {
    const env = own();
    const project = makeProject(actor, { "gone.txt": "x\n", "kept.txt": "x\n" });
    const script = "mkdir many; i=0; while [ $i -lt 250 ]; do echo $i > many/$i; i=$((i+1)); done; rm gone.txt";
    const ran = await runIn(actor, ["--workspace", "sync", "sh", "-c", script], { cwd: project.path, env });
    expect(ran.status, ran.stderr).toBe(0);
    const records = await listed(env, "project.write");
    expect(new Set(records.map(({ by }) => by))).toEqual(new Set(["sync"]));
    const written = new Set(records.flatMap(({ written: paths }) => paths));
    expect(Array.from({ length: 250 }, (_, n) => `many/${n}`).filter((path) => !written.has(path))).toEqual([]);
    expect(written).not.toContain("kept.txt");
    expect(records.flatMap(({ deleted }) => deleted)).toEqual(["gone.txt"]);
  });

  it("what apply and cp bring out of a sandbox is named, and so is what cp brings in", async () => {
    const project = makeProject(actor, { "a.txt": "a\n" });
    const out = makeProject(actor, { "in.txt": "in\n" });
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--dir", project.path, "box"]);
      await world.ok(["exec", "box", "sh", "-c", "echo changed > a.txt; echo out > /tmp/out.txt"]);
      await world.ok(["apply", "box"]);
      await world.ok(["cp", "box:/tmp/out.txt", join(out.path, "out.txt")]);
      await world.ok(["cp", join(out.path, "in.txt"), "box:/tmp/in.txt"]);
      expect(readFileSync(join(out.path, "out.txt"), "utf8")).toBe("out\n");
      const records = JSON.parse(await world.ok(["audit", "list", "--json"])).data;
      expect(records).toContainEqual(
        expect.objectContaining({ type: "project.write", by: "apply", written: ["a.txt"], deleted: [] }),
      );
      const files = records.filter(({ type }: Line) => type === "file");
      expect(files).toContainEqual(expect.objectContaining({ operation: "read", path: "/tmp/out.txt" }));
      expect(files).toContainEqual(expect.objectContaining({ operation: "write", path: "/tmp/in.txt" }));
    });
  });

  it("a snapshot that could not be taken is on record as that, never as one that was", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      const folder = join(world.state, "agentkernel", "snapshots");
      rmSync(folder, { recursive: true, force: true });
      writeFileSync(folder, "no folder");
      expect((await world.ak(["snapshot", "--name", "before", "box"])).status).toBe(125);
      rmSync(folder);
      const records: readonly Line[] = JSON.parse(
        await world.ok(["audit", "list", "--type", "snapshot", "--json"]),
      ).data;
      expect(records.map(({ type, snapshot }) => [type, snapshot])).toEqual([
        ["snapshot.start", "before"],
        ["snapshot.failed", "before"],
      ]);
    });
  });

  it("the user's word for a project's own settings is on record, and that it was taken back", async () => {
    const env = own();
    const project = makeProject(actor, { "agentkernel.toml": '[security]\nprofile = "permissive"\n' });
    const trust = (...words: readonly string[]) => runCli(actor, ["trust", ...words], { cwd: project.path, env });
    expect((await trust()).status).toBe(0);
    expect((await trust("--revoke")).status).toBe(0);
    expect(await listed(env, "trust")).toMatchObject([
      { verdict: "allowed", project: project.path, lines: [expect.stringContaining("permissive")] },
      { verdict: "forgotten", project: project.path },
    ]);
    const refusing = { ...env, AGENTKERNEL_AUDIT: "required" };
    const log = join(env.XDG_STATE_HOME, "agentkernel", "audit");
    rmSync(log, { recursive: true });
    writeFileSync(log, "no folder");
    const refused = await runCli(actor, ["trust"], { cwd: project.path, env: refusing });
    expect(refused.stderr).toContain("the audit log could not be written");
    expect((await runCli(actor, ["trust", "--list"], { cwd: project.path, env })).stdout).toMatch(/^no project/);
  });

  it("a key that is made or revoked is on record, without the key", async () => {
    const env = own();
    const keys = (...words: readonly string[]) => runCli(actor, ["keys", ...words], { cwd: actor.folder(), env });
    const made = await keys("create", "ci", "--scope", "run");
    expect(made.status, made.stderr).toBe(0);
    expect((await keys("revoke", "ci")).status).toBe(0);
    const records = await listed(env, "key");
    expect(records).toMatchObject([
      { type: "key.create", name: "ci", scopes: ["run"], ceiling: expect.stringContaining("no network") },
      { type: "key.revoke", name: "ci" },
    ]);
    expect(JSON.stringify(records)).not.toContain(made.stdout.trim());
    const log = join(env.XDG_STATE_HOME, "agentkernel", "audit");
    rmSync(log, { recursive: true });
    writeFileSync(log, "no folder");
    const refusing = { ...env, AGENTKERNEL_AUDIT: "required" };
    const refused = await runCli(actor, ["keys", "create", "ci"], { cwd: actor.folder(), env: refusing });
    expect(refused).toMatchObject({ status: 125, stdout: "" });
    expect(JSON.parse((await runCli(actor, ["keys", "list", "--json"], { env })).stdout).data).toEqual([]);
  });

  it("what the gateway refuses is on record", async () => {
    const env = own();
    const words = ["run", "--network", "allowlist", "--", "sh", "-c", "curl -s http://denied.example.com/; true"];
    const ran = await runCli(actor, words, { cwd: actor.folder(), env });
    expect(ran.status, ran.stderr).toBe(0);
    expect(await listed(env, "egress")).toContainEqual(
      expect.objectContaining({ asked: "denied.example.com", verdict: "denied" }),
    );
  });
});
