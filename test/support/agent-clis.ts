/**
 * The real command lines of coding agents, in the versions that npm serves now. They are installed once, without running
 * any script of theirs, into a cache beside the build; where npm cannot be reached, what is there is used.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AgentName } from "../../src/agents/agent.js";
import { repository } from "./repository.js";

const run = promisify(execFile);
const cache = join(repository, ".build", "agent-clis");

interface Cli {
  readonly package: string;
  /** The program within node_modules, `*` for what depends on the machine. */
  readonly program: readonly [string, string, string];
}

const clis: Readonly<Record<AgentName, Cli>> = {
  claude: { package: "@anthropic-ai/claude-code", program: ["@anthropic-ai", `claude-code-linux-${arch()}`, "claude"] },
  codex: { package: "@openai/codex", program: ["@openai", "codex", "bin/codex.js"] },
  gemini: { package: "@google/gemini-cli", program: ["@google", "gemini-cli", "bundle/gemini.js"] },
  opencode: { package: "opencode-ai", program: ["", `opencode-linux-${arch()}`, "bin/opencode"] },
};

interface InstalledCli {
  readonly program: string;
  readonly version: string;
}

/** Installs it where it is not there yet. */
export async function agentCli(name: AgentName): Promise<InstalledCli> {
  const { package: wanted, program } = clis[name];
  const version = (await newestVersion(wanted)) ?? cachedVersion(name);
  if (version === null) throw new Error(`${wanted} can neither be had from npm nor is it in ${cache}`);
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(folder)) await install(`${wanted}@${version}`, folder);
  const found = join(folder, "node_modules", ...program);
  if (!existsSync(found)) throw new Error(`${wanted} ${version} has no ${program.join("/")}`);
  removeOthers(name, version);
  return { program: found, version };
}

/** The Claude Agent SDK from npm, without the agent that it would bring along: the one above is used. Its folder. */
export async function claudeAgentSdk(): Promise<{ readonly folder: string; readonly version: string }> {
  const wanted = "@anthropic-ai/claude-agent-sdk";
  const cached = existsSync(cache) ? readdirSync(cache).find((entry) => /^sdk-\d[^/]*$/.test(entry)) : undefined;
  const version = (await newestVersion(wanted)) ?? cached?.slice("sdk-".length) ?? null;
  if (version === null) throw new Error(`${wanted} can neither be had from npm nor is it in ${cache}`);
  const folder = join(cache, `sdk-${version}`);
  if (!existsSync(folder)) await install(`${wanted}@${version}`, folder, ["--omit=optional"]);
  removeOthers("sdk", version);
  return { folder: join(folder, "node_modules", wanted), version };
}

async function newestVersion(name: string): Promise<string | null> {
  try {
    const { stdout } = await run("npm", ["view", name, "version", "--loglevel=error"], { timeout: 30_000 });
    return /^\d[\w.+-]*$/m.exec(stdout)?.[0] ?? null;
  } catch (error) {
    console.warn(`npm does not say which version of ${name} is the newest: ${String(error).split("\n", 1)[0]}`);
    return null;
  }
}

/** By the exact version: of a range npm takes an older one where the newest wants another Node. */
async function install(what: string, folder: string, more: readonly string[] = []): Promise<void> {
  const staging = `${folder}.${process.pid}`;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...quiet, ...more, "--prefix", staging, what], { timeout: 150_000, cwd: staging });
  rmSync(folder, { recursive: true, force: true });
  renameSync(staging, folder);
}

function cachedVersion(name: AgentName): string | null {
  if (!existsSync(cache)) return null;
  const found = readdirSync(cache).find((entry) => new RegExp(`^${name}-\\d[^/]*$`).test(entry));
  if (found === undefined) return null;
  const manifest = readFileSync(join(cache, found, "node_modules", clis[name].package, "package.json"), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

function removeOthers(name: AgentName | "sdk", version: string): void {
  for (const entry of readdirSync(cache)) {
    if (entry.startsWith(`${name}-`) && entry !== `${name}-${version}`)
      rmSync(join(cache, entry), { recursive: true, force: true });
  }
}

function arch(): string {
  return process.arch === "arm64" ? "arm64" : "x64";
}
