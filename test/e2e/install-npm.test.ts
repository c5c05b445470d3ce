/** From npm: what the packages hold, and a newcomer with nothing but Node and npm, from the first line to the last. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualPages } from "../../src/cli/manual.js";
import { nativeNames } from "../../src/core/native-binary.js";
import { version } from "../../src/core/version.js";
import { root, user } from "../support/actors.js";
import { Newcomer } from "../support/newcomer.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { NpmRegistry } from "../support/npm-registry.js";
import { OnlyLoopback } from "../support/only-loopback.js";
import { PREVIOUS_VERSION, releaseOf } from "../support/releases.js";
import { repository } from "../support/repository.js";

const platform = `linux-${process.arch}`;
const MEGABYTE = 1_000_000;
const compiler = join(repository, "node_modules/@typescript", `typescript-${platform}`);
const { version: compilerVersion }: { readonly version: string } = JSON.parse(
  readFileSync(join(compiler, "package.json"), "utf8"),
);

/** A client of MCP in few lines: it runs one program of TypeScript with what is installed, and prints the answer. */
const RUN_TYPESCRIPT = `
const words = ["mcp", "server", "--mcp-server", "none=true", "--tools", "code"];
const child = require("node:child_process").spawn("node_modules/.bin/agentkernel", words, { stdio: ["pipe", "pipe", "inherit"] });
const ask = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
require("node:readline").createInterface({ input: child.stdout }).on("line", (line) => {
  const { id, result } = JSON.parse(line);
  if (id === 2) { console.log(result.content[0].text); child.stdin.end(); }
});
const clientInfo = { name: "newcomer", version: "1" };
ask({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
ask({ method: "notifications/initialized" });
const code = "const six: number = 6; console.log(six * 7);";
ask({ id: 2, method: "tools/call", params: { name: "code_run", arguments: { code } } });
`;

interface Packed {
  readonly name: string;
  readonly mode: string;
}

function contentsOf(path: string): readonly Packed[] {
  const lines = execFileSync("tar", ["-tvzf", path], { encoding: "utf8" }).trimEnd().split("\n");
  return lines.map((line) => {
    const [mode = "", , , , , name = ""] = line.split(/\s+/);
    return { name: name.replace(/^package\//, ""), mode };
  });
}

describe("the packages for npm", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await releaseOf();
  }, 240_000);

  it("hold exactly what they should", () => {
    const main = contentsOf(join(folder, `agentkernel-${version}.tgz`));
    const chunks = main.map(({ name }) => name).filter((name) => name.startsWith("dist/chunks/"));
    expect(chunks.filter((name) => !/^dist\/chunks\/[a-z-]+-[0-9a-f]{16}\.cjs$/.test(name))).toEqual([]);
    expect(chunks.filter((name) => name.startsWith("dist/chunks/cli-"))).toHaveLength(1);
    const sdk = readdirSync(join(repository, "sdk/typescript/src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => [name.replace(/\.ts$/, ".js"), name.replace(/\.ts$/, ".d.ts")]);
    const expected = [
      ...["package.json", "LICENSE", "README.md", "CHANGELOG.md", "bin/agentkernel"],
      ...["agentkernel.js", "package.json", "build-id", "digests.json", "answers/--version", "answers/-V"].map(
        (name) => `dist/${name}`,
      ),
      ...sdk.map((name) => `sdk/${name}`),
      ...manualPages().map(({ file }) => `share/man/man1/${file}`),
      "share/bash-completion/completions/agentkernel",
      "share/zsh/site-functions/_agentkernel",
      "share/fish/vendor_completions.d/agentkernel.fish",
    ];
    expect(main.map(({ name }) => name).sort()).toEqual([...expected, ...chunks].sort());
    const executable = main.filter(({ mode }) => mode.includes("x")).map(({ name }) => name);
    expect(executable).toEqual(["bin/agentkernel"]);

    const native = contentsOf(join(folder, `agentkernel-${platform}-${version}.tgz`));
    const programs = nativeNames.map((name) => `bin/${name}`);
    expect(native.map(({ name }) => name).sort()).toEqual(["LICENSE", ...programs, "package.json"].sort());
    expect(
      native
        .filter(({ mode }) => mode.includes("x"))
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...programs].sort());
  });

  it("are small, run no script when they are installed, and name each other by their exact version", () => {
    const main = join(folder, `agentkernel-${version}.tgz`);
    const native = join(folder, `agentkernel-${platform}-${version}.tgz`);
    expect(statSync(main).size + statSync(native).size).toBeLessThan(15 * MEGABYTE);
    for (const path of [main, native]) {
      const text = execFileSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" });
      const manifest = JSON.parse(text) as Readonly<Record<string, unknown>>;
      expect(manifest).toMatchObject({ version, license: "Apache-2.0" });
      expect(manifest.scripts).toBeUndefined();
      expect(manifest.dependencies).toBeUndefined();
      if (path === main)
        expect(manifest.optionalDependencies).toEqual({
          "@agentkernel/linux-x64": version,
          "@agentkernel/linux-arm64": version,
          "@typescript/typescript-linux-x64": compilerVersion,
          "@typescript/typescript-linux-arm64": compilerVersion,
        });
    }
  });
});

describe.skipIf(process.getuid?.() !== 0 || user === undefined)("a newcomer with only Node and npm", () => {
  leavesNothingBehind();
  let place: OnlyLoopback;
  let registry: NpmRegistry;
  const actor = user;
  if (actor === undefined) return;

  beforeAll(async () => {
    const previous = await releaseOf(PREVIOUS_VERSION);
    const current = await releaseOf();
    place = await OnlyLoopback.make();
    registry = await NpmRegistry.start(place, root ?? actor);
    for (const [folder, of] of [
      [previous, PREVIOUS_VERSION],
      [current, version],
    ] as const) {
      await registry.publish(join(folder, `agentkernel-${platform}-${of}.tgz`));
      await registry.publish(join(folder, `agentkernel-${of}.tgz`));
    }
  }, 480_000);

  afterAll(async () => {
    await registry?.stop();
    await place?.end();
  });

  it("has the first sandbox within a minute of the one line, without root and without the world outside", async () => {
    const newcomer = new Newcomer(place, actor);
    const startedMs = performance.now();
    const installed = await newcomer.run(["npm", "install", "-g", "agentkernel"]);
    expect(installed.stderr).not.toContain("npm error");
    const first = await newcomer.run(["agentkernel", "run", "--no-network", "echo", "hello"], newcomer.folder());
    const tookMs = performance.now() - startedMs;
    expect(first).toMatchObject({ status: 0, stdout: "hello\n" });
    expect(tookMs).toBeLessThan(60_000);
    console.info(`install to first sandbox: ${(tookMs / 1000).toFixed(1)} s`);
    // What was compiled once need not be compiled again.
    expect(newcomer.files().filter((path) => /\/chunks\/cli-[0-9a-f]+\.code$/.test(path))).toHaveLength(1);
    expect((await newcomer.run(["agentkernel", "--version"])).stdout).toBe(`agentkernel ${version}\n`);
    expect(existsSync(join(newcomer.home, "global/share/man/man1/agentkernel-run.1"))).toBe(true);
    const checked = await newcomer.run(["agentkernel", "setup", "--print"]);
    expect(checked.stdout).toMatch(/agentkernel itself: \d+ files, all with the digests of the release\n/);
    expect(checked.stdout).toContain("\nBackends\n");
    const removed = await newcomer.run(["agentkernel", "setup", "--uninstall", "--yes"]);
    expect(removed.stdout).toContain("removed; the program itself goes with: npm uninstall -g agentkernel\n");
    expect((await newcomer.run(["npm", "uninstall", "-g", "agentkernel"])).status).toBe(0);
    expect(newcomer.files().filter((path) => path.includes("agentkernel"))).toEqual([]);
  }, 180_000);

  it("has the same, and the SDK, in a project's own node_modules", async () => {
    const newcomer = new Newcomer(place, actor);
    const project = newcomer.folder();
    const installed = await newcomer.run(["npm", "install", "--prefix", project, "agentkernel"], project);
    expect(installed.stderr).not.toContain("npm error");
    const ran = await newcomer.run(
      [join(project, "node_modules/.bin/agentkernel"), "run", "--no-network", "pwd"],
      project,
    );
    expect(ran).toMatchObject({ status: 0, stdout: "/workspace\n" });
    const code =
      'import { AgentKernel } from "agentkernel"; console.log(typeof AgentKernel, new AgentKernel() instanceof AgentKernel)';
    const sdk = await newcomer.run(["node", "--input-type=module", "--eval", code], project);
    expect(sdk).toMatchObject({ status: 0, stdout: "function true\n" });
    await newcomer.run([join(project, "node_modules/.bin/agentkernel"), "setup", "--uninstall", "--yes"], project);
  }, 180_000);

  it("without the package for this machine is told what to do", async () => {
    const newcomer = new Newcomer(place, actor);
    await newcomer.run(["npm", "install", "-g", "agentkernel"]);
    // As --omit=optional, a registry that lacks it or another kind of machine would have it.
    rmSync(join(newcomer.home, "global/lib/node_modules/agentkernel/node_modules"), { recursive: true });
    const ran = await newcomer.run(["agentkernel", "run", "true"], newcomer.folder());
    expect(ran.status).toBe(125);
    expect(ran.stderr).toContain("hint: npm install -g --include=optional agentkernel installs it");
  }, 180_000);

  it("keeps sandboxes, their files and the log through an upgrade, and removes all of it in the end", async () => {
    const newcomer = new Newcomer(place, actor);
    await newcomer.run(["npm", "install", "-g", `agentkernel@${PREVIOUS_VERSION}`]);
    expect((await newcomer.run(["agentkernel", "--version"])).stdout).toBe(`agentkernel ${PREVIOUS_VERSION}\n`);
    const project = newcomer.folder();
    const made = await newcomer.run(["agentkernel", "create", "box", "--no-network"], project);
    expect(made).toMatchObject({ status: 0 });
    await newcomer.run(["agentkernel", "start", "box"], project);
    await newcomer.run(["agentkernel", "exec", "box", "--", "sh", "-c", "echo kept > /root/note"], project);

    expect((await newcomer.run(["npm", "install", "-g", `agentkernel@${version}`])).status).toBe(0);
    expect((await newcomer.run(["agentkernel", "--version"])).stdout).toBe(`agentkernel ${version}\n`);
    const read = await newcomer.run(["agentkernel", "exec", "box", "--", "cat", "/root/note"], project);
    expect(read).toMatchObject({ status: 0, stdout: "kept\n" });
    expect((await newcomer.run(["agentkernel", "audit", "verify"])).status).toBe(0);
    // Started by the version before, whose programs are gone.
    expect((await newcomer.run(["agentkernel", "stop", "--all"])).stdout).toBe("1 sandbox ended\n");

    await newcomer.run(["agentkernel", "start", "box"], project);
    const removed = await newcomer.run(["agentkernel", "setup", "--uninstall", "--yes"]);
    expect(removed).toMatchObject({ status: 0 });
    await newcomer.run(["npm", "uninstall", "-g", "agentkernel"]);
    expect(newcomer.files().filter((path) => path.includes("agentkernel"))).toEqual([]);
  }, 240_000);

  it("has TypeScript for code mode with the package, and is told what to do where it is missing", async () => {
    await registry.publish(compiler);
    await registry.publish(join(repository, "node_modules/zod"));
    await registry.publish(join(await releaseOf(), `agentkernel-claude-agent-${version}.tgz`));
    const newcomer = new Newcomer(place, actor);
    const project = newcomer.folder();
    const packages = ["agentkernel", "agentkernel-claude-agent", "zod"];
    const words = ["npm", "install", "--legacy-peer-deps", "--prefix", project, ...packages];
    expect(await newcomer.run(words, project)).toMatchObject({ status: 0 });
    const run = async () => (await newcomer.run(["node", "--eval", RUN_TYPESCRIPT], project)).stdout;
    expect(await run()).toContain("42");
    rmSync(join(project, "node_modules/@typescript"), { recursive: true });
    expect(await run()).toContain("npm install -g typescript@7 installs it");
    const named = 'import * as all from "agentkernel-claude-agent"; console.log(typeof all.sandboxedQuery)';
    const sdk = await newcomer.run(["node", "--input-type=module", "--eval", named], project);
    expect(sdk).toMatchObject({ status: 0, stdout: "function\n" });
    await newcomer.run([join(project, "node_modules/.bin/agentkernel"), "setup", "--uninstall", "--yes"], project);
  }, 180_000);
});
