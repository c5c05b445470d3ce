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
): Promise<{ result: CliResult; onHost: string[] }> {
  const project = makeProject(actor, { "agentkernel.toml": greedyConfig, "greedy.policy.yaml": greedyPolicy });
  const home = makeProject(actor, { mark: "mine\n" });
  const env = { HOME: home.path, ...userWide(actor, limits ?? "") };
  const result = await runCli(actor, ["run", "-e", `REAL_HOME=${home.path}`, ...words, "sh", "-c", look], {
    cwd: project.path,
    env,
  });
  return { result, onHost: Object.keys(project.content()) };
}

describe.each(actors)("A5 as $name: a project's own files widen what the user allows", (actor) => {
  it("works where the user has no limits: the project has its way, and the run says so", async () => {
    const { result, onHost } = await lookFrom(actor, [], null);
    expect(result.stdout).toBe("2000\nhome\n0\n");
    expect(onHost).toContain("stolen.txt");
    expect(result.stderr).toMatch(/agentkernel\.toml:5 lets the sandbox read your home folder/);
    expect(result.stderr).toMatch(/agentkernel\.toml:6 lets the sandbox change this folder itself/);
  });

  it.each([
    ["by its agentkernel.toml", []],
    ["by a policy file", ["--policy", "greedy.policy.yaml"]],
    ["by a file that is named as configuration", ["--config", "agentkernel.toml"]],
  ])("%s: the ceiling holds, seen from inside", async (_how, words) => {
    const limits = '[limits]\nprofile = "restrictive"\nopen_files = 64\ntimeout_ms = 20000\n';
    const { result, onHost } = await lookFrom(actor, words, limits);
    expect(result.stdout).toBe("64\n1000\n");
    expect(onHost).toEqual(["agentkernel.toml", "greedy.policy.yaml"]);
    expect(result.stderr).toMatch(/is beyond the limit in .*config\.toml:3; 64 holds/);
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
