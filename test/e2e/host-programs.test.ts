/** Programs that the caller's PATH names outside /usr are in sandboxes with the host image, and nothing else of a home. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { findProgram } from "../../src/core/find-program.js";
import { type Actor, actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../support/daemon.js";
import { call, startMcp } from "../support/mcp-client.js";
import { makeProject } from "../support/project.js";
import { runCli, runIn } from "../support/run-cli.js";
import { inWorld } from "../support/sandbox-world.js";

const SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const BIN = { cargo: ".cargo/bin", node: ".nvm/versions/node/v1/bin", other: "work/bin" };

interface Host {
  /** The same actor with toolchains in its home, and these on PATH. */
  readonly actor: Actor;
  readonly home: string;
  readonly path: string;
}

function program(actor: Actor, path: string, says: string): void {
  const first = mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho ${says}\n`);
  chmodSync(path, 0o755);
  if (process.getuid?.() !== 0) return;
  chownSync(path, actor.uid, actor.gid);
  if (first === undefined) return;
  for (let at = dirname(path); at.length >= first.length; at = dirname(at)) chownSync(at, actor.uid, actor.gid);
}

function hostOf(actor: Actor, directories: readonly string[] = [BIN.cargo, BIN.node]): Host {
  const home = actor.ownFolder("home");
  program(actor, join(home, BIN.cargo, "which-tool"), "of Cargo");
  program(actor, join(home, BIN.node, "which-tool"), "of Node");
  program(actor, join(home, BIN.other, "own-tool"), "my own");
  for (const name of [".cargo/credentials.toml", ".ssh/id_ed25519", ".nvm/versions/node/v1/etc/npmrc", "notes"]) {
    program(actor, join(home, name), "planted-secret");
  }
  const path = [...directories.map((name) => join(home, name)), SYSTEM].join(":");
  return { actor: { ...actor, home, variables: { ...actor.variables, PATH: path } }, home, path };
}

describe.each(actors)("as $name", (actor) => {
  const made: string[] = [];
  afterEach(() => {
    for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
  });

  it("toolchains of the home are found in the caller's order, read-only, and are all that there is of it", async () => {
    const host = hostOf(actor);
    const cwd = makeProject(actor, {}).path;
    const script = `which-tool; echo "$PATH"; touch '${host.home}/${BIN.cargo}/new' 2>/dev/null || echo read-only
      find '${host.home}' -type f | sort`;
    for (const flags of [[], ["-p", "restrictive"]]) {
      const { stdout } = await runIn(host.actor, [...flags, "sh", "-c", script], { cwd });
      const files = [join(host.home, BIN.cargo, "which-tool"), join(host.home, BIN.node, "which-tool")];
      expect(stdout.split("\n")).toEqual(["of Cargo", host.path, "read-only", ...files, ""]);
    }
    const other = hostOf(actor, [BIN.node, BIN.cargo]);
    expect((await runIn(other.actor, ["which-tool"], { cwd })).stdout).toBe("of Node\n");
  });

  it("a command that is only in another directory of PATH is explained, also where a shell looked for it", async () => {
    const host = hostOf(actor, [BIN.other]);
    const cwd = makeProject(actor, {}).path;
    const directory = join(host.home, BIN.other);
    const why = "it is in a home directory, of which only known toolchains are shown";
    const direct = await runIn(host.actor, ["own-tool"], { cwd });
    expect(direct.status).toBe(127);
    expect(direct.stderr).toContain("own-tool: command not found in the sandbox");
    expect(direct.stderr).toContain(`this machine has it in ${directory}, which the sandbox does not have: ${why}`);
    const shown = await runIn(host.actor, ["--mount", `${directory}:${directory}:ro`, "own-tool"], { cwd });
    expect(shown).toMatchObject({ status: 0, stdout: "my own\n" });
    const shell = await runIn(host.actor, ["sh", "-c", "own-tool"], { cwd });
    expect(shell.status).toBe(127);
    expect(shell.stderr).toContain(`the sandbox does not have all of your PATH: ${directory} (${why})`);
    const json = await runIn(host.actor, ["--json", "sh", "-c", "own-tool"], { cwd });
    expect(JSON.parse(json.stdout).data.notes).toEqual([expect.stringContaining(directory)]);
    const none = await runIn(host.actor, ["no-such-tool"], { cwd });
    expect(none.stderr).toContain(`PATH in the sandbox is ${SYSTEM}; not in the sandbox: ${directory} (${why})`);
  });

  it("the interpreter of a virtual environment is there where it is a toolchain's, and explained where it is not", async () => {
    const host = hostOf(actor, []);
    const version = join(host.home, ".local/share/uv/python/cpython-3.12/bin/python3.12");
    program(actor, version, "this is 3.12");
    const { path: cwd } = makeProject(actor, { ".venv/bin/activate": "", "other/.keep": "" });
    symlinkSync(version, join(cwd, ".venv/bin/python"));
    symlinkSync(join(host.home, "notes"), join(cwd, "other/python"));
    expect(await runIn(host.actor, [".venv/bin/python"], { cwd })).toMatchObject({
      status: 0,
      stdout: "this is 3.12\n",
    });
    const dangling = await runIn(host.actor, ["other/python"], { cwd });
    expect(dangling.status).toBe(127);
    expect(dangling.stderr).toContain(
      `other/python is a symlink to ${host.home}/notes, which the sandbox does not have`,
    );
  });

  it.runIf(process.getuid?.() === 0)("an installation in /opt is shown without its settings", async () => {
    const prefix = mkdtempSync("/opt/agentkernel-test-");
    made.push(prefix);
    chmodSync(prefix, 0o755);
    const link = `${prefix}-link`;
    made.push(link);
    symlinkSync(prefix, link);
    for (const name of ["bin/opt-tool", "lib/part", ".env", "etc/settings", "data/file"]) {
      const path = join(prefix, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `#!/bin/sh\nfind -L '${prefix}' '${link}' -type f | sort\n`);
      chmodSync(path, 0o755);
    }
    const hasGvisor = actor.name === "root" && findProgram("runsc", SYSTEM) !== null;
    const backends = [[], ...(hasGvisor ? [["--backend", "gvisor"]] : [])];
    const options = { cwd: makeProject(actor, {}).path, env: { PATH: `${link}/bin:${SYSTEM}` } };
    const files = [
      `${prefix}-link/bin/opt-tool`,
      `${prefix}-link/lib/part`,
      `${prefix}/bin/opt-tool`,
      `${prefix}/lib/part`,
    ];
    for (const flags of backends) {
      const { stdout } = await runIn(actor, [...flags, "opt-tool"], options);
      expect(stdout.trim().split("\n").sort()).toEqual(files.sort());
    }
    chmodSync(join(prefix, "bin"), 0o777);
    const open = await runIn(actor, ["opt-tool"], options);
    expect(open.status).toBe(127);
    expect(open.stderr).toContain(`every user may write to ${prefix}/bin`);
  });

  it("a sandbox that stays has them at every start, and the client of HTTP and MCP as well", async () => {
    const host = hostOf(actor);
    await inWorld(host.actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      for (const _ of [1, 2]) {
        expect(await world.ok(["exec", "box", "which-tool"])).toBe("of Cargo\n");
        await world.ok(["stop", "box"]);
      }
      const { stderr } = await world.ak(["exec", "box", "own-tool"]);
      expect(stderr).toContain("PATH in the sandbox is");
    });
    const server = await ApiServer.start(host.actor);
    try {
      const body = { command: ["which-tool"], network: false };
      expect((await server.ask("POST", "/run", { body })).json.data).toMatchObject({ stdout: "of Cargo\n" });
    } finally {
      await server.stop();
    }
    const cwd = makeProject(actor, {}).path;
    const { client } = await startMcp(host.actor, { cwd, env: { AGENTKERNEL_DAEMON: "off", PATH: host.path } });
    try {
      const { data } = await call(client, "sandbox_run", { command: ["which-tool"], network: false });
      expect(data).toMatchObject({ exit_code: 0, stdout: "of Cargo\n" });
    } finally {
      await client.close();
    }
  });

  it("a sandbox that was built ahead for one PATH is never another's", async () => {
    const host = hostOf(actor);
    const client = clientOf(host.actor);
    const through = onlyThroughDaemon(client);
    const daemon = new TestDaemon(client);
    await daemon.ready;
    const cwd = makeProject(actor, {}).path;
    const script = "which-tool 2>/dev/null || echo none";
    const inTurn = [host.path, SYSTEM, `${host.home}/${BIN.node}:${SYSTEM}`];
    try {
      for (const _ of [1, 2, 3]) {
        // One after the other, since each is to find what was built ahead for the others.
        const said = [];
        for (const path of inTurn)
          said.push((await runIn(withPath(through, path), ["sh", "-c", script], { cwd })).stdout);
        expect(said).toEqual(["of Cargo\n", "none\n", "of Node\n"]);
      }
      const { stdout } = await runCli(client, ["daemon", "status", "--json"]);
      expect(JSON.parse(stdout).data.pool.taken).toBeGreaterThan(0);
    } finally {
      await daemon.stop();
    }
  });
});

function withPath(client: Actor, path: string): Actor {
  return { ...client, variables: { ...client.variables, PATH: path } };
}
