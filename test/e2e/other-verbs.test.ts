import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { runCli } from "../support/run-cli.js";
import { shellCli } from "../support/shell-cli.js";

const layers = [
  "userns",
  "subids",
  "mountns-proc",
  "overlay",
  "idmap",
  "netns",
  "redirect",
  "seccomp",
  "landlock",
  "cgroup",
  "kvm",
  "guest",
];

describe.each(actors)("as $name", (actor) => {
  it("doctor names every layer, proves the ones it says work, and answers within seconds", async () => {
    const startedAt = performance.now();
    const { status, stdout } = await runCli(actor, ["doctor"]);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(status).toBe(0);
    for (const layer of layers) expect(stdout).toMatch(new RegExp(`^[✓✗–] ${layer} `, "m"));
    expect(stdout).toMatch(/^✓ guest +booted a sandbox and ran a command in it/m);
    expect(stdout).toMatch(/^✓ linux +works/m);
    for (const failed of stdout.matchAll(/^✗ (\S+) .*\n(.*)$/gm)) {
      if (layers.includes(failed[1] ?? "")) expect(failed[2]).toMatch(/next step: \S/);
    }
  });

  it("doctor --json says the same to programs", async () => {
    const { status, stdout } = await runCli(actor, ["doctor", "--json"]);
    const { success, data } = JSON.parse(stdout);
    expect({ status, success, ok: data.ok }).toEqual({ status: 0, success: true, ok: true });
    expect(data.checks.map(({ name }: { name: string }) => name)).toEqual(layers);
    for (const check of data.checks) {
      expect(check).toEqual({
        name: expect.any(String),
        state: expect.stringMatching(/^(works|fails|not-needed)$/),
        detail: expect.stringMatching(/./),
        next_step: check.state === "fails" ? expect.stringMatching(/./) : null,
        ms: check.ms === null ? null : expect.any(Number),
      });
    }
    expect(data.backends[0]).toMatchObject({ name: "linux", usable: true, missing: [] });
  });

  it("policy explain tells each field, its value, and what set it", async () => {
    const { status, stdout } = await runCli(
      actor,
      ["policy", "explain", "-p", "restrictive", "--memory", "2g", "--json"],
      {
        cwd: actor.folder(),
      },
    );
    expect(status).toBe(0);
    const text = (
      await runCli(actor, ["policy", "explain", "-p", "restrictive", "--memory", "2g"], { cwd: actor.folder() })
    ).stdout;
    expect(text).toMatch(/resources\.memoryMiB\s+2048\s+\(--memory\)/);
    expect(text).toMatch(/fs\.rootReadonly\s+true\s+\(profile restrictive\)/);
    expect(text).toMatch(/resources\.pids\s+4096\s+\(default\)/);
    expect(JSON.parse(stdout).success).toBe(true);
  });

  it.each([
    ["bash", "bash -n"],
    ["zsh", "cat > /dev/null"],
    ["fish", "cat > /dev/null"],
  ])("completions %s can be read by the shell and know the options", async (shell, check) => {
    const { stdout, status } = await shellCli(actor, `agentkernel completions ${shell} | tee >(${check} >&2)`);
    expect(status).toBe(0);
    for (const word of ["run", "doctor", "workspace", "restrictive"]) expect(stdout).toContain(word);
  });

  it("version and help", async () => {
    for (const words of [["version"], ["--version"], ["-V"]]) {
      expect(await runCli(actor, words)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^agentkernel \d+\.\d+\.\d+\n$/),
      });
    }
    expect(JSON.parse((await runCli(actor, ["version", "--json"])).stdout).data.version).toMatch(/^\d+\.\d+\.\d+$/);
    for (const words of [["--help"], ["help"], ["run", "--help"], ["help", "run"], ["doctor", "-h"]]) {
      const { status, stdout, stderr } = await runCli(actor, words);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("agentkernel ");
    }
  });
});
