/** Files that a project brings, against the limits of the user, and a sandbox against those files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { makeProject } from "../../support/project.js";
import { type CliResult, runCli } from "../../support/run-cli.js";

const greedyConfig = `[resources]
open_files = 2000
timeout_ms = 500000
[security]
profile = "permissive"
mount_cwd = true
`;
const greedyPolicy = `version: 1
fs: { workspace: { mode: mount } }
net: { egress: true }
proc: { no_root: false, wall_timeout: 100h }
`;

/** The actor's user-wide file, in a folder of its own so that tests do not share one. */
function userWide(actor: Actor, text: string): Readonly<Record<string, string>> {
  const folder = makeProject(actor, { "agentkernel/config.toml": text });
  return { XDG_CONFIG_HOME: folder.path };
}

const look =
  'ulimit -n; (echo taken > stolen.txt) 2> /dev/null; test -e "$REAL_HOME/mark" && echo home; (echo x > /usr/x) 2> /dev/null; id -u';

async function lookFrom(
  actor: Actor,
  words: readonly string[],
  limits: string | null,
  isTrusted = false,
): Promise<{ result: CliResult; onHost: string[] }> {
  const project = makeProject(actor, { "agentkernel.toml": greedyConfig, "greedy.policy.yaml": greedyPolicy });
  const home = makeProject(actor, { mark: "mine\n" });
  const env = { HOME: home.path, ...userWide(actor, limits ?? "") };
  if (isTrusted) expect((await runCli(actor, ["trust"], { cwd: project.path, env })).status).toBe(0);
  const result = await runCli(actor, ["run", "-e", `REAL_HOME=${home.path}`, ...words, "sh", "-c", look], {
    cwd: project.path,
    env,
  });
  return { result, onHost: Object.keys(project.content()) };
}

describe.each(actors)("A5 as $name: a project's own files widen what the user allows", (actor) => {
  const openFlags = ["--profile", "permissive", "--memory", "2g"];

  it("works where the user asks for it: the home folder is shown and the project is written", async () => {
    const { result, onHost } = await lookFrom(actor, openFlags, null);
    expect(result.stdout).toBe("2000\nhome\n0\n");
    expect(onHost).toContain("stolen.txt");
  });

  it("a project that nobody trusts gets none of it, and one line says what it asked for", async () => {
    const { result, onHost } = await lookFrom(actor, [], null);
    expect(result.stdout).toBe("2000\n0\n");
    expect(onHost).not.toContain("stolen.txt");
    const lines = result.stderr.split("\n").filter((line) => line.includes("asks for more than you allow"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /fs\.workspace\.mode mount \(agentkernel\.toml:6\); fs\.home readonly \(agentkernel\.toml:5\)/,
    );
  });

  it.each([
    ["by its agentkernel.toml", []],
    ["by a policy file", ["--policy", "greedy.policy.yaml"]],
    ["by a file that is named as configuration", ["--config", "agentkernel.toml"]],
  ])("%s: the ceiling holds where the project is trusted, seen from inside", async (_how, words) => {
    const limits = '[limits]\nprofile = "restrictive"\nopen_files = 64\ntimeout_ms = 20000\n';
    const { result, onHost } = await lookFrom(actor, words, limits, true);
    expect(result.stdout).toBe("64\n1000\n");
    expect(onHost).toEqual(["agentkernel.toml", "greedy.policy.yaml"]);
    expect(result.stderr).toMatch(/is beyond the limit in .*config\.toml:3; 64 holds/);
  });

  it("trusting it gives what it asks for, until the file changes or the answer is taken back", async () => {
    const project = makeProject(actor, { "agentkernel.toml": greedyConfig });
    const env = userWide(actor, "");
    const isWritten = async (name: string) => {
      const { stderr } = await runCli(actor, ["run", "touch", name], { cwd: project.path, env });
      const isWidened = Object.hasOwn(project.content(), name);
      expect(stderr.includes("asks for more than you allow")).toBe(!isWidened);
      return isWidened;
    };
    const trusting = (...words: readonly string[]) => runCli(actor, ["trust", ...words], { cwd: project.path, env });
    expect(await isWritten("before")).toBe(false);
    const shown = await trusting();
    expect(shown.stdout).toContain("agentkernel.toml:5: profile permissive\n");
    expect(shown.stdout).toContain("agentkernel.toml:6: fs.workspace.mode mount\n");
    expect(await isWritten("trusted")).toBe(true);
    expect((await trusting("--list")).stdout).toContain(project.path);

    writeFileSync(join(project.path, "agentkernel.toml"), `${greedyConfig}domains.allow = ["evil.example"]\n`);
    expect(await isWritten("changed")).toBe(false);
    expect((await trusting()).stdout).toMatch(/^ {2}\+ agentkernel\.toml:7: net\.allow evil\.example$/m);
    expect(await isWritten("trusted-again")).toBe(true);
    expect((await trusting("--revoke")).status).toBe(0);
    expect(await isWritten("revoked")).toBe(false);
  });

  it("another project with the same file is not trusted by it", async () => {
    const [first, second] = [0, 1].map(() => makeProject(actor, { "agentkernel.toml": greedyConfig }));
    const env = userWide(actor, "");
    await runCli(actor, ["trust"], { cwd: first?.path ?? "", env });
    await runCli(actor, ["run", "touch", "x"], { cwd: second?.path ?? "", env });
    expect(second?.content()).not.toHaveProperty("x");
  });

  it("settings that only narrow ask nothing and say nothing", async () => {
    const text = "[resources]\nmemory_mb = 512\npids = 100\n[security]\nnetwork = false\ncommands.deny = ['rm']\n";
    const project = makeProject(actor, { "agentkernel.toml": text });
    const { status, stderr } = await runCli(actor, ["run", "true"], { cwd: project.path });
    expect({ status, asked: stderr.includes("asks for more") }).toEqual({ status: 0, asked: false });
  });

  it("a limit of time ends a command whose project asked for more", async () => {
    const project = makeProject(actor, { "agentkernel.toml": greedyConfig });
    const env = userWide(actor, "limits.timeout_ms = 300");
    const result = await runCli(actor, ["run", "sleep", "600"], { cwd: project.path, env });
    expect(result.status).toBe(124);
  });

  it("limits, the audit log and mirrors cannot be set by a project at all", async () => {
    for (const text of [
      "limits.memory_mb = 99999",
      "audit.enabled = false",
      "[images.mirrors]\n'docker.io' = ['a.example']",
    ]) {
      const project = makeProject(actor, { "agentkernel.toml": text });
      const result = await runCli(actor, ["run", "true"], { cwd: project.path });
      expect(result.status).toBe(125);
      expect(result.stderr).toMatch(/can only be set in the user-wide configuration file/);
    }
  });
});

describe.each(actors)("A5 as $name: a sandbox edits the files that steer the next one", (actor) => {
  const files = {
    "agentkernel.toml": "[resources]\npids = 100\n",
    "sandbox.policy.yaml": "version: 1\nnet: { egress: false }\n",
    "ci/strict.yaml": "version: 1\nfs: { workspace: { mode: mount } }\n",
    "ci/project-config.toml": "[resources]\npids = 100\n",
    "config/agentkernel/config.toml": "[limits]\nmemory_mb = 512\n",
  };
  const steering = Object.keys(files);
  const overwrite = steering.map((name) => `echo widened > ${name}`).join("; ");
  const replace = steering.map((name) => `rm -f ${name}; mv -f other ${name}`).join("; ");

  it("works without a sandbox: every one of them can be written", () => {
    const project = makeProject(actor, files);
    for (const name of steering) writeFileSync(join(project.path, name), "widened\n");
    for (const name of steering) expect(project.content()[name]).toBe("widened\n");
  });

  it.each(["mount", "sync"])("with --workspace %s none of those in use can be changed or replaced", async (mode) => {
    const project = makeProject(actor, { ...files, other: "widened\n" });
    mkdirSync(join(project.path, "empty"));
    const env = { XDG_CONFIG_HOME: join(project.path, "config") };
    const words = ["--config", "ci/project-config.toml", "--policy", "ci/strict.yaml", "--workspace", mode];
    const script = `(${overwrite}; ${replace}; mv ci ci2; mv config config2; touch done) 2> /dev/null; ls`;
    const result = await runCli(actor, ["run", ...words, "sh", "-c", script], { cwd: project.path, env });
    expect(result.stdout).toContain("done");
    const after = project.content();
    expect(after.done).toBe("");
    for (const [name, text] of Object.entries(files)) expect(after[name], name).toBe(text);
  });
});
