/**
 * A whole agent in a sandbox: `run --compatibility-mode claude claude …`. Where the command is the mode's own agent, what it
 * needs inside is added to what the user said, as settings that could have been stated: its program, its key as a secret
 * that is bound to its own API, and the variables that tell it where it is. What the user said outright stays.
 */
import { realpathSync } from "node:fs";
import { posix } from "node:path";
import { findProgram } from "../core/find-program.js";
import type { Mount, SecretBinding } from "../core/policy.js";
import type { Surroundings } from "../core/surroundings.js";
import { IMAGE_VARIABLE } from "./choices.js";
import type { RunSpec, SandboxSpec } from "./run-spec.js";

interface AgentInside {
  readonly program: string;
  /** Those whose variable is set are bound. */
  readonly secrets: readonly SecretBinding[];
  readonly env: Readonly<Record<string, string>>;
}

/** By compatibility mode. */
const agents: Readonly<Record<string, AgentInside>> = {
  claude: {
    program: "claude",
    secrets: [
      { name: "ANTHROPIC_API_KEY", host: "api.anthropic.com", header: "x-api-key" },
      { name: "ANTHROPIC_AUTH_TOKEN", host: "api.anthropic.com", header: "authorization" },
    ],
    // It updates itself elsewhere, and without the first it refuses to skip its questions as root.
    env: { IS_SANDBOX: "1", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  },
  codex: {
    program: "codex",
    secrets: [
      { name: "OPENAI_API_KEY", host: "api.openai.com", header: "authorization" },
      { name: "CODEX_API_KEY", host: "api.openai.com", header: "authorization" },
    ],
    // In this mode nothing but the project and temporary files can be written.
    env: { HOME: "/tmp" },
  },
  gemini: {
    program: "gemini",
    secrets: [{ name: "GEMINI_API_KEY", host: "generativelanguage.googleapis.com", header: "x-goog-api-key" }],
    // The folder is a copy of the project in a sandbox: what the project steers, it steers in there.
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
  },
};

/** Where the program appears, if it is none of those that the image `host` has anyway. */
const PLACE = "/opt/agent";

export function withAgentInside(spec: RunSpec, at: Surroundings): RunSpec {
  const { sandbox, exec } = spec;
  const agent = agents[sandbox.mode ?? ""];
  if (agent === undefined || exec.argv[0] !== agent.program) return spec;
  const { "net.secrets": secrets = [], "proc.env": env = {} } = sandbox;
  const isStated = (variable: string) => variable in env || secrets.some(({ name }) => name === variable);
  const bound = agent.secrets.filter(({ name }) => (at.env[name] ?? "") !== "" && !isStated(name));
  const withSecrets: SandboxSpec = {
    ...sandbox,
    ...(secrets.length + bound.length === 0 ? {} : { "net.secrets": [...secrets, ...bound] }),
    "proc.env": { ...agent.env, ...env },
  };
  const shown = ownProgram(agent.program, sandbox, at);
  if (shown === null) return { ...spec, sandbox: withSecrets };
  const mounts = shown.mount === null ? {} : { "fs.mounts": [...(sandbox["fs.mounts"] ?? []), shown.mount] };
  return {
    ...spec,
    sandbox: { image: "host", ...withSecrets, ...mounts },
    exec: { ...exec, argv: [shown.program, ...exec.argv.slice(1)] },
  };
}

interface ShownProgram {
  /** Null where the image has it. */
  readonly mount: Mount | null;
  readonly program: string;
}

/** This machine's own program; null where another image is wanted, which then has to have it. */
function ownProgram(name: string, sandbox: SandboxSpec, { env }: Surroundings): ShownProgram | null {
  const image = sandbox.image ?? env[IMAGE_VARIABLE] ?? "";
  const found = image === "" || image === "host" ? findProgram(name, env.PATH) : null;
  if (found === null) return null;
  const path = realpathSync(found);
  if (path.startsWith("/usr/")) return { mount: null, program: name };
  const packages = packagesAround(path);
  if (packages === null) return { mount: shownAt(path, `${PLACE}/${name}`), program: `${PLACE}/${name}` };
  const guest = `${PLACE}/node_modules`;
  return { mount: shownAt(packages, guest), program: posix.join(guest, posix.relative(packages, path)) };
}

function shownAt(host: string, guest: string): Mount {
  return { host, guest, readonly: true };
}

/** The outermost folder of packages that a file lies in: a program's parts are packages beside it. */
function packagesAround(path: string): string | null {
  const at = path.indexOf("/node_modules/");
  return at < 0 ? null : path.slice(0, at + "/node_modules".length);
}
