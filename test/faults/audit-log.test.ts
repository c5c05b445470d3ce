/** The audit log while its writers are killed, stopped, crowded, or out of disk. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query } from "../../src/audit/query.js";
import { verify } from "../../src/audit/verify.js";
import { actors, root } from "../support/actors.js";
import { repository } from "../support/repository.js";
import { runCli, runIn } from "../support/run-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

/** A process that does nothing but write, and says how many of its records are in the log. */
const PROGRAM = `
import { AuditTrail, SandboxAudit } from "./src/audit/index.js";
async function write(folder: string, name: string, most: number): Promise<void> {
  const trail = new AuditTrail({ folder, maxFileBytes: 100_000 });
  const audit = new SandboxAudit(trail, name, []);
  for (let at = 1; at <= most; at++) {
    const path = "/" + "x".repeat(at % 50 === 0 ? 4000 : 50);
    audit.file({ operation: "write", path, bytes: at, verdict: "allowed" });
    await trail.flush();
    process.stdout.write(at + "\\n");
  }
}
const [folder, name, most] = process.argv.slice(2);
void write(String(folder), String(name), Number(most));`;

let base: string;
let program: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "agentkernel-audit-faults-"));
  program = join(base, "writer.cjs");
  const stdin = { contents: PROGRAM, resolveDir: repository, loader: "ts" } as const;
  buildSync({ stdin, bundle: true, platform: "node", format: "cjs", outfile: program });
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

interface Writer {
  readonly name: string;
  readonly pid: number;
  /** How many records it was told are in the log. */
  confirmed: number;
  readonly first: Promise<unknown>;
  readonly end: Promise<unknown>;
}

/** `tracer`: a program before it, which makes itself its child. */
function startWriter(folder: string, name: string, most: number, tracer: readonly string[] = []): Writer {
  const [command = process.execPath, ...words] = [...tracer, process.execPath, program, folder, name, String(most)];
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  if (child.pid === undefined) throw new Error("the writer did not start");
  const lines = createInterface({ input: child.stdout });
  const writer: Writer = { name, pid: child.pid, confirmed: 0, first: once(lines, "line"), end: once(child, "close") };
  lines.on("line", (line) => {
    writer.confirmed = Number(line);
  });
  return writer;
}

async function expectAllThere(folder: string, writers: readonly Writer[]): Promise<void> {
  const { records } = await query(folder, { types: ["file"] }, 1_000_000);
  for (const { name, confirmed } of writers) {
    const found = records.filter(({ sandbox }) => sandbox === name).map(({ fields }) => Number(fields.bytes));
    // In order, none twice, none missing; one more may be there that nobody could be told of any more.
    expect(found, name).toEqual(Array.from({ length: found.length }, (_, at) => at + 1));
    expect(found.length - confirmed, name).toBeOneOf([0, 1]);
  }
}

describe("many writers", () => {
  it("20 at once: one chain, and every record of each, in order", async () => {
    const folder = join(base, "crowd");
    const writers = Array.from({ length: 20 }, (_, at) => startWriter(folder, `w${at}`, 50));
    await Promise.all(writers.map(({ end }) => end));
    expect(await verify(folder)).toMatchObject({ isWhole: true, torn: null, problems: [], notes: [] });
    expect(writers.map(({ confirmed }) => confirmed)).toEqual(writers.map(() => 50));
    await expectAllThere(folder, writers);
  });

  it("20 killed at any moment, over and over: what was confirmed is there, and the chain holds", async () => {
    const folder = join(base, "killed");
    const all: Writer[] = [];
    for (let round = 0; round < 5; round++) {
      const writers = Array.from({ length: 20 }, (_, at) => startWriter(folder, `w${round}-${at}`, 1_000_000));
      all.push(...writers);
      await Promise.all(writers.map(({ first }) => first));
      for (const { pid, end } of writers) {
        process.kill(pid, "SIGKILL");
        await end;
      }
      expect(await verify(folder)).toMatchObject({ isWhole: true, problems: [] });
    }
    const healer = startWriter(folder, "healer", 1);
    await healer.end;
    expect(await verify(folder)).toMatchObject({ isWhole: true, problems: [], torn: null });
    await expectAllThere(folder, [...all, healer]);
  });

  it("one that is stopped while it has the turn does not hold the others up for good", async () => {
    const folder = join(base, "stopped");
    const victim = startWriter(folder, "victim", 1_000_000);
    await victim.first;
    const turn = join(folder, "turn");
    // Stopped again and again until it is caught with the turn.
    for (let isCaught = false; !isCaught; ) {
      process.kill(victim.pid, "SIGSTOP");
      await expect.poll(() => /^\d+ \(.*\) T/.test(readFileSync(`/proc/${victim.pid}/stat`, "latin1"))).toBe(true);
      isCaught = readdirSync(turn)[0] !== "free";
      if (!isCaught) process.kill(victim.pid, "SIGCONT");
    }
    const other = startWriter(folder, "other", 3);
    await other.end;
    expect(other.confirmed).toBe(3);
    const before = victim.confirmed;
    process.kill(victim.pid, "SIGCONT");
    await expect.poll(() => victim.confirmed).toBeGreaterThan(before + 3);
    process.kill(victim.pid, "SIGKILL");
    await victim.end;
    const { records } = await query(folder, { sandbox: "other" }, 10);
    expect(records).toHaveLength(3);
    expect(await verify(folder)).toMatchObject({ isWhole: true, problems: [] });
  });
});

describe("a writer that is stopped and passed over", () => {
  // In its second turn. Renamings before: one that finds no turn, the one that makes it, and the one that gives it back.
  it.each([
    ["with the turn just taken", "rename:signal=STOP:when=4"],
    ["with its line written, and no word of it where the log ends", "pwrite64:error=EIO:signal=STOP:when=2"],
    ["with all written, and the turn not given back", "pwrite64:signal=STOP:when=2"],
  ])("%s: each of its records is there once", async (_, injection) => {
    const folder = mkdtempSync(join(base, "passed-over-"));
    const trace = join(folder, "..", `${basename(folder)}.trace`);
    const call = injection.slice(0, injection.indexOf(":"));
    const tracer = ["strace", "-D", "-qq", "-e", `trace=${call}`, "-e", `inject=${injection}`, "-o", trace];
    const victim = startWriter(folder, "victim", 1_000_000, tracer);
    await expect.poll(() => existsSync(trace) && readFileSync(trace, "utf8")).toContain("stopped by SIGSTOP");
    expect(readdirSync(join(folder, "turn"))).not.toEqual(["free"]);
    const other = startWriter(folder, "other", 3);
    await other.end;
    expect(other.confirmed).toBe(3);
    process.kill(victim.pid, "SIGCONT");
    await expect.poll(() => victim.confirmed).toBeGreaterThan(5);
    process.kill(victim.pid, "SIGKILL");
    await victim.end;
    expect(await verify(folder)).toMatchObject({ isWhole: true, problems: [], notes: [] });
    await expectAllThere(folder, [victim, other]);
  });
});

describe.each(actors)("as $name", (actor) => {
  const small = (size: string) => {
    const disk = actor.folder("disk");
    execFileSync("mount", [
      "-t",
      "tmpfs",
      "-o",
      `size=${size},uid=${actor.uid},gid=${actor.gid},mode=700`,
      "none",
      disk,
    ]);
    return disk;
  };

  // Only root can mount the small disk; whoever runs the sandbox is the actor.
  it.skipIf(root === undefined)("a full disk: the run goes on and says so; with room again the log does", async () => {
    // With room for what a first sandbox keeps there.
    const disk = small("16m");
    try {
      const options = { env: { XDG_STATE_HOME: disk }, cwd: actor.folder() };
      expect(await runIn(actor, ["true"], options)).toMatchObject({ status: 0 });
      const filler = join(disk, "filler");
      for (let room = true; room; ) room = fill(filler);
      for (let runs = 0, isFull = false; !isFull && runs < 20; runs++) {
        const ran = await runIn(actor, ["echo", "x".repeat(1000)], options);
        expect(ran).toMatchObject({ status: 0, stdout: `${"x".repeat(1000)}\n` });
        isFull = /^agentkernel: the audit log could not be written: ENOSPC.*$/m.test(ran.stderr);
        if (runs === 19) expect(isFull).toBe(true);
      }
      expect(await runCli(actor, ["audit", "verify"], options)).toMatchObject({ status: 0 });
      const required = await runIn(actor, ["echo", "x".repeat(4000)], {
        ...options,
        env: { ...options.env, AGENTKERNEL_AUDIT: "required" },
      });
      expect(required).toMatchObject({ status: 125, stdout: "" });
      rmSync(filler);
      expect(await runIn(actor, ["true"], options)).toMatchObject({
        status: 0,
        stderr: expect.not.stringMatching(/audit/),
      });
      expect(await runCli(actor, ["audit", "verify"], options)).toMatchObject({ status: 0 });
    } finally {
      execFileSync("umount", [disk]);
    }
  });

  it("a run that is killed leaves its start and its command on record, and a log that goes on", async () => {
    const env = { XDG_STATE_HOME: actor.folder("state") };
    const cli = new WatchedCli(actor, ["run", "--no-network", "sh", "-c", "echo up; sleep 1000"], {
      env,
      cwd: actor.folder(),
    });
    await cli.until(/up/);
    const log = join(env.XDG_STATE_HOME, "agentkernel", "audit", "00000001.jsonl");
    await expect.poll(() => existsSync(log) && readFileSync(log, "utf8")).toContain("sleep 1000");
    process.kill(cli.pid, "SIGKILL");
    await cli.end;
    await runIn(actor, ["true"], { env, cwd: actor.folder() });
    const { stdout } = await runCli(actor, ["audit", "list"], { env });
    expect(stdout.match(/exec\.start/g)).toHaveLength(2);
    expect(stdout.match(/exec\.end/g)).toHaveLength(1);
    expect(await runCli(actor, ["audit", "verify"], { env })).toMatchObject({ status: 0 });
  });
});

/** False once not one byte more goes in. */
function fill(path: string): boolean {
  const before = existsSync(path) ? statSync(path).size : 0;
  try {
    writeFileSync(path, "x".repeat(4096), { flag: "a" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    return statSync(path).size > before;
  }
}
