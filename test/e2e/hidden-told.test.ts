/** What is hidden is told: how many files once, all of them where somebody asks, and why a command misses one. */
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeGitProject, secrets } from "../support/git-project.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";
import { privateKeyHolding } from "../support/secret-files.js";

const files = { ".env": "A=1\n", "certs/server.pem": privateKeyHolding("x"), code: "x" };
const hidden = [
  { path: ".env", reason: "environment file" },
  { path: "certs/server.pem", reason: "private key" },
];
const COUNT = "2 files hidden, agentkernel policy explain lists them";

describe.each(actors)("as $name", (actor) => {
  it.each([["copy"], ["sync"], ["mount"]])("%s: stderr has the number of hidden files once", async (form) => {
    const { path } = makeProject(actor, files);
    const { stderr, status } = await runIn(actor, ["--workspace", form, "true"], { cwd: path });
    expect(status).toBe(0);
    expect(stderr.split("\n").filter((line) => line.includes("hidden,"))).toEqual([`agentkernel: ${COUNT}`]);
  });

  it("nothing is said where nothing is hidden, and nothing of a project that is not shown", async () => {
    const plain = makeProject(actor, { code: "x" });
    expect((await runIn(actor, ["true"], { cwd: plain.path })).stderr).not.toContain("hidden");
    const { path } = makeProject(actor, files);
    expect((await runIn(actor, ["--workspace", "none", "true"], { cwd: path })).stderr).not.toContain("hidden");
  });

  it("--json and policy explain list them with reasons", async () => {
    const { path } = makeProject(actor, files);
    const { stdout } = await runIn(actor, ["--json", "true"], { cwd: path });
    const { layers } = JSON.parse(stdout).data;
    const layer = layers.find(({ name }: { name: string }) => name === "hidden-files");
    expect(layer).toEqual({
      name: "hidden-files",
      state: "applied",
      detail: "2 hidden: .env, certs/server.pem",
      hidden: { count: 2, tracked: 0, files: hidden },
    });
    const explained = await runCli(actor, ["policy", "explain", "--json"], { cwd: path });
    const rows = JSON.parse(explained.stdout).data as { field: string; value: unknown }[];
    expect(rows.find(({ field }) => field === "hidden")?.value).toEqual(hidden);
    const text = await runCli(actor, ["policy", "explain"], { cwd: path });
    expect(text.stdout).toMatch(
      /hidden +2 entries .*\n +- \.env \(environment file\)\n +- certs\/server\.pem \(private key\)/,
    );
  });

  it("a command in a sandbox that stays is explained at the end too", async () => {
    const { path } = makeProject(actor, files);
    const name = `told-${actor.name}`;
    expect((await runCli(actor, ["create", name, "--no-network"], { cwd: path })).status).toBe(0);
    try {
      const { stderr } = await runCli(actor, ["exec", name, "cat", "certs/server.pem", "code", "not-there"]);
      expect(stderr).toContain("certs/server.pem is there, but hidden from the sandbox (private key)");
      const other = await runCli(actor, ["exec", name, "cat", "not-there"]);
      expect(other.stderr).not.toContain("is there, but hidden");
    } finally {
      expect((await runCli(actor, ["remove", "--force", name])).status).toBe(0);
    }
  });

  it("doctor says how many hidden files the project's repository has committed", async () => {
    const project = makeGitProject(actor);
    const { stdout } = await runCli(actor, ["doctor"], { cwd: project.path });
    expect(stdout).toContain("2 files that sandboxes do not see are tracked by git");
    const asJson = JSON.parse((await runCli(actor, ["doctor", "--json"], { cwd: project.path })).stdout);
    expect(asJson.data.project).toEqual({ tracked_hidden_files: 2 });
    project.git("rm", "--quiet", "--cached", ...Object.keys(secrets));
    expect((await runCli(actor, ["doctor"], { cwd: project.path })).stdout).not.toContain("tracked by git");
  });

  it.each([[[]], [["--json"]]])("a command that misses a hidden file is explained at the end %j", async (words) => {
    const { path } = makeProject(actor, files);
    const result = await runIn(actor, [...words, "cat", "certs/server.pem", "code"], { cwd: path });
    const told =
      "certs/server.pem is there, but hidden from the sandbox (private key); to show it: --show certs/server.pem";
    expect(words.length > 0 ? JSON.parse(result.stdout).data.notes : result.stderr.split("\n")).toContainEqual(
      expect.stringContaining(told),
    );
    const other = await runIn(actor, ["cat", "not-there"], { cwd: path });
    expect(other.stderr).not.toContain("is there, but hidden");
  });

  it("hidden files that git tracks are named as readable in its history", async () => {
    const project = makeGitProject(actor);
    const { stderr } = await runIn(actor, ["true"], { cwd: project.path });
    expect(stderr).toContain("2 of them are tracked by git, so commands can read them in its history");
    const shown = await runIn(actor, ["git", "show", "HEAD:.env"], { cwd: project.path });
    expect(shown.stdout).toBe(secrets[".env"]);
  });
});
