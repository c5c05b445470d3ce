/**
 * A coding agent at work for a test: a home folder of its own, an environment with nothing of ours in it but fake keys, and
 * a network namespace that has nothing but loopback, where a scripted model answers it.
 */
import { execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { agentNames } from "../../src/agents/agent.js";
import { verbs } from "../../src/cli/verbs.js";
import type { Actor } from "./actors.js";
import { agentCli } from "./agent-clis.js";
import type { Protocol, Step } from "./model-servers/index.js";
import type { SessionOrder, SessionReport } from "./model-servers/session.js";
import { repository } from "./repository.js";
import type { CliResult } from "./run-cli.js";
import { testFolder } from "./test-folder.js";
import { testSettings } from "./test-settings.js";

/** Said loudly where namespaces cannot be made; null where they can. */
export function whyNoSession(): string | null {
  if (process.getuid?.() === 0) return null;
  const why = "agents run only in a network namespace of their own, which needs root: these tests are SKIPPED";
  console.warn(why);
  return why;
}

export interface Work {
  readonly protocol: Protocol;
  readonly script: readonly Step[];
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Where an agent lives and works. */
export class AgentHome {
  readonly home: string;
  readonly project: string;
  readonly #actor: Actor;
  readonly #programs: string;

  private constructor(actor: Actor, programs: string) {
    this.#actor = actor;
    this.#programs = programs;
    this.home = actor.folder("agent-home");
    this.project = actor.folder("agent-project");
  }

  /** Programs are the real agents, and the agentkernel under test. */
  static async make(actor: Actor): Promise<AgentHome> {
    return new AgentHome(actor, await programs(actor));
  }

  /** A file of the user's, by its path below the home or the project. */
  write(below: "home" | "project", name: string, text: string): string {
    const path = join(this[below], name);
    const made = mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
    for (let at = path; at.length >= (made ?? path).length; at = join(at, "..")) {
      chownSync(at, this.#actor.uid, this.#actor.gid);
    }
    return path;
  }

  environment(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const path = [this.#programs, "/usr/local/bin", "/usr/bin", "/bin"].join(":");
    return { PATH: path, HOME: this.home, LANG: "C.UTF-8", TERM: "dumb", ...testSettings, ...more };
  }

  /** A program with nobody to talk to. */
  async run(argv: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CliResult> {
    const [program = "", ...words] = this.#alone(argv);
    const options = { cwd: this.project, env: this.environment(more), timeout: 150_000 };
    return await new Promise((resolve) => {
      execFile(program, words, options, (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({ status, signal: error?.signal ?? null, stdout, stderr, stdoutBytes: Buffer.from(stdout) });
      });
    });
  }

  /** An agent with its model. */
  async work({ protocol, script, argv, env = {} }: Work): Promise<SessionReport> {
    const order: SessionOrder = {
      protocol,
      script,
      argv,
      env: this.environment(env),
      cwd: this.project,
      deadlineMs: 150_000,
    };
    const [program = "", ...words] = this.#alone([process.execPath, bundled("session"), JSON.stringify(order)]);
    const child = spawn(program, words, {
      cwd: this.project,
      env: this.environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      output.stdout += String(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      output.stderr += String(chunk);
    });
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", () => resolve());
    });
    if (!output.stdout.startsWith("{")) throw new Error(`the session left no report: ${output.stdout}${output.stderr}`);
    return JSON.parse(output.stdout) as SessionReport;
  }

  #alone(argv: readonly string[]): readonly string[] {
    const { uid, gid } = this.#actor;
    const become = uid === 0 ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
    const loopback = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
    return ["unshare", "--net", ...loopback, ...become, ...argv];
  }
}

const made = new Map<string, string>();

function bundled(name: "session" | "stand-in-mcp"): string {
  const known = made.get(name);
  if (known !== undefined) return known;
  const outfile = join(mkdtempSync(join(testFolder(), "agent-support-")), `${name}.mjs`);
  chmodSync(join(outfile, ".."), 0o755);
  const entry = join(repository, "test/support/model-servers", `${name}.ts`);
  buildSync({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile });
  made.set(name, outfile);
  return outfile;
}

/** The folder that PATH has first. */
async function programs({ dist }: Actor): Promise<string> {
  const known = made.get("programs");
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(testFolder(), "agent-programs-"));
  chmodSync(folder, 0o755);
  const clis = await Promise.all(agentNames.map(async (name) => ({ name, cli: await agentCli(name) })));
  for (const { name, cli } of clis) symlinkSync(cli.program, join(folder, name));
  symlinkSync(process.execPath, join(folder, "node"));
  const standIn = verbs.some(({ name }) => name === "mcp server")
    ? ""
    : `[ "$1" != mcp ] || exec ${process.execPath} ${bundled("stand-in-mcp")}\n`;
  const own = join(folder, "agentkernel");
  writeFileSync(own, `#!/bin/sh\n${standIn}exec ${process.execPath} ${join(dist, "agentkernel.js")} "$@"\n`);
  chmodSync(own, 0o755);
  made.set("programs", folder);
  return folder;
}
