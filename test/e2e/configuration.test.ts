import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";

const userWide = (actor: Actor, text: string) => ({
  XDG_CONFIG_HOME: makeProject(actor, { "agentkernel/config.toml": text }).path,
});

interface Row {
  readonly field: string;
  readonly value: unknown;
  readonly origin: string;
}

async function explained(
  actor: Actor,
  cwd: string,
  words: readonly string[],
  env = {},
): Promise<(field: string) => unknown[]> {
  const { stdout } = await runCli(actor, ["policy", "explain", "--json", ...words], { cwd, env });
  const rows: Row[] = JSON.parse(stdout).data;
  return (field) => rows.filter((row) => row.field === field).flatMap(({ value, origin }) => [value, origin]);
}

describe.each(actors)("as $name", (actor) => {
  it("each layer yields to the one above it, and explain names file and line", async () => {
    const env = userWide(actor, "[resources]\nopen_files = 101\npids = 11\nvcpus = 1\nmemory_mb = 65\ndisk_mb = 20\n");
    const project = makeProject(actor, {
      "agentkernel.toml": "[resources]\nopen_files = 102\nvcpus = 2\nmemory_mb = 66\n",
      "other.toml": "[resources]\npids = 12\n",
      "p.policy.yaml": "version: 1\nproc:\n  mem_limit: 67m\n  cpu_quota: 3\n",
    });
    const words = ["--policy", "p.policy.yaml", "--vcpus", "4"];
    expect((await runCli(actor, ["trust"], { cwd: project.path, env })).status).toBe(0);
    const row = await explained(actor, project.path, words, env);
    expect(row("resources.vcpus")).toEqual([4, "--vcpus"]);
    expect(row("resources.memoryMiB")).toEqual([67, "p.policy.yaml:3"]);
    expect(row("resources.openFiles")).toEqual([102, "agentkernel.toml:2"]);
    expect(row("resources.pids")).toEqual([11, `${env.XDG_CONFIG_HOME}/agentkernel/config.toml:3`]);
    expect(row("resources.timeoutMs")).toEqual([null, "default"]);
    const other = await explained(actor, project.path, ["-c", "other.toml"], env);
    expect(other("resources.pids")).toEqual([12, "other.toml:2"]);
    expect(other("resources.openFiles")).toEqual([101, `${env.XDG_CONFIG_HOME}/agentkernel/config.toml:2`]);
  });

  it("what the files say holds inside", async () => {
    const project = makeProject(actor, {
      "agentkernel.toml": "[resources]\nopen_files = 99\n[agent]\npreferred = 'codex'\n",
      "vendor/lib.txt": "lib\n",
      "a.hidden": "secret\n",
      "policies/p.yaml":
        "version: 1\nfs:\n  workspace: { mode: copy, readonly: true }\n  mounts: [ { host: ../vendor, guest: /deps } ]\n  deny: [ '**/*.hidden' ]\nproc: { no_root: true }\n",
    });
    const script = "ulimit -n; id -u; cat /deps/lib.txt; ls; touch x 2>/dev/null || echo read-only";
    const words = ["--policy", "policies/p.yaml", "sh", "-c", script];
    const { status, stdout } = await runCli(actor, ["run", ...words], { cwd: project.path });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: "99\n1000\nlib\nagentkernel.toml\npolicies\nvendor\nread-only\n",
    });
  });

  it("fork_limit counts processes beside the first, and 0 is none", async () => {
    const forks =
      "import os,time\nn=0\ntry:\n  while n<20:\n    if os.fork()==0: time.sleep(100)\n    n+=1\nexcept OSError: pass\nprint(n)";
    const count = async (limit: number) => {
      const project = makeProject(actor, { "p.json": JSON.stringify({ version: 1, proc: { fork_limit: limit } }) });
      return (await runCli(actor, ["run", "--policy", "p.json", "python3", "-c", forks], { cwd: project.path })).stdout;
    };
    expect(await count(0)).toBe("0\n");
    expect(await count(3)).toBe("3\n");
  });

  it("wall_timeout ends a command, and output_limit cuts the answer but not a stream", async () => {
    const project = makeProject(actor, {
      "p.yaml": "version: 1\nproc: { wall_timeout: 300ms }\n",
      "o.yaml": "version: 1\nproc: { output_limit: 1m }\n",
    });
    const options = { cwd: project.path };
    expect((await runCli(actor, ["run", "--policy", "p.yaml", "sleep", "600"], options)).status).toBe(124);
    const noise = ["head", "-c", "2000000", "/dev/zero"];
    const json = await runCli(actor, ["run", "--policy", "o.yaml", "--json", ...noise], options);
    expect(JSON.parse(json.stdout).data).toMatchObject({ dropped_bytes: 2_000_000 - (1 << 20) });
    expect((await runCli(actor, ["run", "--policy", "o.yaml", ...noise], options)).stdoutBytes.length).toBe(2_000_000);
  });

  it("commands that the file denies are not run, and the line is named", async () => {
    const project = makeProject(actor, { "agentkernel.toml": "[security]\ncommands.deny = ['curl']\n" });
    const result = await runIn(actor, ["/usr/bin/curl", "x"], { cwd: project.path });
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, /the command curl is denied by agentkernel\.toml:2/);
    expect(await runIn(actor, ["echo", "x"], { cwd: project.path })).toMatchObject({ status: 0, stdout: "x\n" });
  });

  it("a flag beyond the user's limits is refused", async () => {
    const env = userWide(actor, "[limits]\nmemory_mb = 128\nprofile = 'moderate'\n");
    const options = { cwd: actor.folder(), env };
    for (const words of [
      ["--memory", "1g"],
      ["-p", "permissive"],
      ["--workspace", "mount"],
    ]) {
      const result = await runIn(actor, [...words, "true"], options);
      expect(result).toMatchObject({ status: 125, stdout: "" });
      expectComplaint(result.stderr, /is more than .*config\.toml:[23]/, /raise the limit/);
    }
    expect((await runIn(actor, ["--memory", "64m", "true"], options)).status).toBe(0);
  });

  it("-p restrictive is not loosened by the project, and the run says what was held back", async () => {
    const project = makeProject(actor, { "agentkernel.toml": "[security]\nnetwork = true\nmount_cwd = true\n" });
    const result = await runCli(actor, ["run", "-p", "restrictive", "sh", "-c", "touch x || echo held"], {
      cwd: project.path,
    });
    expect(result.stdout).toBe("held\n");
    expect(result.stderr).toMatch(/agentkernel\.toml:2: net\.egress on is beyond profile restrictive; off holds/);
    expect(project.content()).not.toHaveProperty("x");
  });

  it("MCP servers of the project are what the preset allows", async () => {
    const project = makeProject(actor, {
      ".mcp.json": '{"mcpServers": {"a": {"url": "https://mcp.example.com/sse"}}}',
      "p.yaml": "version: 1\nnet: { allow: [ { preset: mcp-servers } ] }\n",
    });
    const untrusted = await explained(actor, project.path, ["--policy", "p.yaml"]);
    expect(untrusted("net.allow")[0]).toEqual([]);
    expect((await runCli(actor, ["trust"], { cwd: project.path })).stdout).toContain("mcp.example.com");
    const row = await explained(actor, project.path, ["--policy", "p.yaml"]);
    expect(row("net.allow")).toEqual([[{ domain: "mcp.example.com", ports: [443] }], "p.yaml:2"]);
    const broken = makeProject(actor, {
      ".mcp.json": "{",
      "p.yaml": "version: 1\nnet: { allow: [ { preset: mcp-servers } ] }\n",
    });
    const result = await runCli(actor, ["run", "--policy", "p.yaml", "true"], { cwd: broken.path });
    expect(result.status).toBe(125);
    expectComplaint(result.stderr, /\.mcp\.json: it is not JSON/);
  });

  it("a policy that lies there unnamed has no effect, and the run says so", async () => {
    const project = makeProject(actor, { "sandbox.policy.yaml": "not even a policy" });
    const result = await runIn(actor, ["true"], { cwd: project.path });
    expect(result.status).toBe(0);
    expect(result.stderr).toMatch(/sandbox\.policy\.yaml is here but was not named/);
  });

  it("an image that a file names is never replaced by another", async () => {
    const project = makeProject(actor, { "agentkernel.toml": "[sandbox]\nbase_image = 'no-such-image.example/x:1'\n" });
    const result = await runIn(actor, ["true"], { cwd: project.path, env: { AGENTKERNEL_IMAGE: "" } });
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, /no-such-image\.example\/x:1/);
    expect((await runIn(actor, ["--image", "host", "true"], { cwd: project.path })).status).toBe(0);
  });

  const faulty: readonly [string, Readonly<Record<string, string>>, readonly string[], RegExp, RegExp][] = [
    [
      "an unknown key",
      { "agentkernel.toml": "\n[resources]\nmemroy_mb = 5\n" },
      [],
      /agentkernel\.toml:3:1: there is no key "memroy_mb"/,
      /did you mean memory_mb\?/,
    ],
    [
      "a wrong type",
      { "agentkernel.toml": "[resources]\nvcpus = 'two'\n" },
      [],
      /agentkernel\.toml:2:9: resources\.vcpus is a text/,
      /0\.1 to 256/,
    ],
    ["no TOML", { "agentkernel.toml": "[resources\n" }, [], /agentkernel\.toml:\d+:\d+: not TOML/, /./],
    [
      "a policy that is none",
      { "p.yaml": "version: 1\nnet:\n  egres: true\n" },
      ["--policy", "p.yaml"],
      /p\.yaml:3:3: there is no key "egres" in net/,
      /did you mean egress\?/,
    ],
    [
      "a policy that is not there",
      {},
      ["--policy", "p.yaml"],
      /p\.yaml cannot be read: it does not exist/,
      /never goes on without/,
    ],
    ["a configuration that is not there", {}, ["-c", "c.toml"], /c\.toml cannot be read: it does not exist/, /./],
    ["a folder as policy", { "p/x": "" }, ["--policy", "p"], /p cannot be read: it is not a regular file/, /./],
    [
      "a mount of something missing",
      { "p.yaml": "version: 1\nfs:\n  mounts: [ { host: no, guest: /no } ]\n" },
      ["--policy", "p.yaml"],
      /p\.yaml:3: ".*\/no" does not exist/,
      /./,
    ],
    [
      "a mount of a secret",
      { ".ssh/id_x": "", "p.yaml": "version: 1\nfs:\n  mounts: [ { host: .ssh, guest: /k } ]\n" },
      ["--policy", "p.yaml"],
      /p\.yaml:3 .*holds secrets/,
      /./,
    ],
    [
      "a policy that shows itself writable",
      { "p.yaml": "version: 1\nfs:\n  mounts: [ { host: p.yaml, guest: /p, readonly: false } ]\n" },
      ["--policy", "p.yaml"],
      /p\.yaml is protected: it decides about this sandbox/,
      /read-only/,
    ],
    [
      "a backend that is not there",
      { "agentkernel.toml": "sandbox.backend = 'kubernetes'\n" },
      ["-c", "agentkernel.toml"],
      /the backend kubernetes is not in this version/,
      /./,
    ],
  ];

  it.each(faulty)("%s stops the run", async (_name, files, words, sentence, hint) => {
    const project = makeProject(actor, files);
    const result = await runIn(actor, [...words, "echo", "ran"], { cwd: project.path });
    expect(result).toMatchObject({ status: 125, stdout: "" });
    expectComplaint(result.stderr, sentence, hint);
  });

  it("a link that leads nowhere, and a pipe, are files that cannot be read", async () => {
    const project = makeProject(actor, {});
    symlinkSync("/no/such/file", join(project.path, "agentkernel.toml"));
    const result = await runIn(actor, ["true"], { cwd: project.path });
    expect(result.status).toBe(125);
    expectComplaint(result.stderr, /agentkernel\.toml cannot be read/);
    execFileSync("mkfifo", ["-m", "666", join(project.path, "pipe")]);
    const pipe = await runIn(actor, ["-c", "pipe", "true"], { cwd: project.path });
    expect(pipe.status).toBe(125);
    expectComplaint(pipe.stderr, /not a regular file/);
  });

  it("policy check lists every fault of every file, for people and for programs", async () => {
    const project = makeProject(actor, {
      "agentkernel.toml": "[resources]\nvcpus = 0\npids = 'x'\n",
      "good.policy.yaml": "version: 1\n",
      "user.toml": "limits.memory_mb = 64\n[audit]\nenabled = true\n",
    });
    mkdirSync(join(project.path, "empty"));
    const options = { cwd: project.path };
    const text = await runCli(actor, ["policy", "check", "agentkernel.toml", "good.policy.yaml"], options);
    expect(text).toMatchObject({ status: 125, stdout: "good.policy.yaml: a valid policy\n" });
    expect(text.stderr).toMatch(/agentkernel\.toml:2:9.*\n.*hint.*\nagentkernel: agentkernel\.toml:3:8/);
    const missing = await runCli(actor, ["policy", "check", "none.yaml", "good.policy.yaml"], options);
    expect(missing).toMatchObject({ status: 125, stdout: "good.policy.yaml: a valid policy\n" });
    expect(missing.stderr).toMatch(/^agentkernel: none\.yaml cannot be read: it does not exist\n {2}hint: /);
    const user = await runCli(actor, ["policy", "check", "--kind", "user", "user.toml"], options);
    expect(user).toMatchObject({ status: 0, stdout: "user.toml: a valid user-wide configuration\n" });
    const json = await runCli(actor, ["policy", "check", "--json", "agentkernel.toml", "user.toml"], options);
    expect(json.status).toBe(125);
    expect(JSON.parse(json.stdout).data).toMatchObject({
      valid: false,
      files: [
        {
          file: "agentkernel.toml",
          kind: "project",
          faults: [
            { line: 2, column: 9 },
            { line: 3, column: 8 },
          ],
        },
        { file: "user.toml", kind: "project", faults: [{ line: 1 }, { line: 3 }] },
      ],
    });
  });
});
