import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { decoys, PLANTED, plantedSecrets } from "../support/planted-secrets.js";
import { makeProject } from "../support/project.js";
import { runIn } from "../support/run-cli.js";
import { privateKeyHolding } from "../support/secret-files.js";

const list = ["find", ".", "-type", "f", "-printf", "%P\n"];

async function namesInside(actor: Actor, cwd: string, words: readonly string[] = []): Promise<readonly string[]> {
  const { stdout, stderr, status } = await runIn(actor, [...words, ...list], { cwd });
  expect({ stderr, status }).toMatchObject({ status: 0 });
  return stdout.trim().split("\n").sort();
}

describe.each(actors)("as $name", (actor) => {
  it.each([["copy"], ["mount"]])("%s: every planted secret is hidden, and nothing else", async (form) => {
    const { path } = makeProject(actor, { ...Object.fromEntries(plantedSecrets), ...decoys });
    expect(plantedSecrets.size).toBeGreaterThanOrEqual(124);
    const words = ["--workspace", form];
    const found = await runIn(actor, [...words, "sh", "-c", `grep -rlF ${PLANTED} .; true`], { cwd: path });
    expect(found.stdout).toBe("");
    const inside = await namesInside(actor, path, words);
    expect(inside).toEqual(expect.arrayContaining(Object.keys(decoys)));
    if (form === "copy") expect(inside).toEqual(Object.keys(decoys).sort());
  });

  it("--show and the user-wide configuration show a file, but for one that fs.deny names", async () => {
    const key = privateKeyHolding("key");
    const { path } = makeProject(actor, { "certs/test.pem": key, "certs/other.pem": key, ".env": "A=1\n", code: "x" });
    expect(await namesInside(actor, path)).toEqual(["code"]);
    expect(await namesInside(actor, path, ["--show", "certs/test.pem"])).toEqual(["certs/test.pem", "code"]);
    expect(await namesInside(actor, path, ["--show", "./certs/", "--show", ".env"])).toEqual(
      [".env", "certs/other.pem", "certs/test.pem", "code"].sort(),
    );
    writeFileSync(join(path, "deny.yaml"), 'version: 1\nfs: { deny: ["certs/other.pem"] }\n');
    const denied = await namesInside(actor, path, ["--policy", "deny.yaml", "--show", "certs"]);
    expect(denied).toEqual(["certs/test.pem", "code", "deny.yaml"]);
  });

  it("a project's own file cannot show anything", async () => {
    const { path } = makeProject(actor, { ".env": "A=1\n", "agentkernel.toml": '[files]\nshow = [".env"]\n' });
    const { status, stderr } = await runIn(actor, ["true"], { cwd: path });
    expect(status).toBe(125);
    expect(stderr).toMatch(/agentkernel\.toml:\d+.*files/s);
  });

  it("the user-wide configuration shows what it names in every project", async () => {
    const { path } = makeProject(actor, { ".env.test": "A=1\n", ".env": "B=1\n" });
    const config = join(actor.folder(), "config");
    const file = join(config, "agentkernel", "config.toml");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '[files]\nshow = ["**/.env.test"]\n');
    const { stdout } = await runIn(actor, ["cat", ".env.test", ".env"], {
      cwd: path,
      env: { XDG_CONFIG_HOME: config },
    });
    expect(stdout).toBe("A=1\n");
  });
});
