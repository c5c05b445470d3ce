/**
 * A whole agent in a sandbox: `run --compatibility-mode claude claude …`. Where the command is the mode's own agent, what it
 * needs inside is added to what the user said, as options that could have been typed: its program, its key as a secret
 * that is bound to its own API, and the variables that tell it where it is. What the user said outright stays.
 */
import { realpathSync } from "node:fs";
import { posix } from "node:path";
import { findProgram } from "../core/find-program.js";
import type { Surroundings } from "../core/surroundings.js";
import { IMAGE_VARIABLE } from "./choices.js";
import type { RequestOptions } from "./request-options.js";

interface AgentInside {
  readonly program: string;
  /** As `--secret` takes them; those whose variable is set are bound. */
  readonly secrets: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** By compatibility mode. */
const agents: Readonly<Record<string, AgentInside>> = {
  claude: {
    program: "claude",
    secrets: ["ANTHROPIC_API_KEY:api.anthropic.com:x-api-key", "ANTHROPIC_AUTH_TOKEN:api.anthropic.com:authorization"],
    // It updates itself elsewhere, and without the first it refuses to skip its questions as root.
    env: { IS_SANDBOX: "1", DISABLE_AUTOUPDATER: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  },
  codex: {
    program: "codex",
    secrets: ["OPENAI_API_KEY:api.openai.com:authorization", "CODEX_API_KEY:api.openai.com:authorization"],
    // In this mode nothing but the project and temporary files can be written.
    env: { HOME: "/tmp" },
  },
  gemini: {
    program: "gemini",
    secrets: ["GEMINI_API_KEY:generativelanguage.googleapis.com:x-goog-api-key"],
    // The folder is a copy of the project in a sandbox: what the project steers, it steers in there.
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
  },
};

/** Where the program appears, if it is none of those that the image `host` has anyway. */
const PLACE = "/opt/agent";

export function withAgentInside(options: RequestOptions, at: Surroundings): RequestOptions {
  const agent = agents[options.values.get("compatibility-mode")?.[0] ?? ""];
  if (agent === undefined || options.rest[0] !== agent.program) return options;
  const values = new Map(options.values);
  const add = (option: string, words: readonly string[]) => {
    if (words.length > 0) values.set(option, [...(values.get(option) ?? []), ...words]);
  };
  const nameOf = (word: string): string => word.split(/[:=]/, 1)[0] ?? word;
  const isSaid = (option: string, name: string) => values.get(option)?.some((word) => nameOf(word) === name) === true;
  add(
    "secret",
    agent.secrets.filter(
      (word) => (at.env[nameOf(word)] ?? "") !== "" && !isSaid("secret", nameOf(word)) && !isSaid("env", nameOf(word)),
    ),
  );
  add(
    "env",
    Object.entries(agent.env).flatMap(([name, value]) => (isSaid("env", name) ? [] : [`${name}=${value}`])),
  );
  const shown = ownProgram(agent.program, options, at);
  if (shown === null) return { ...options, values };
  if (!values.has("image")) values.set("image", ["host"]);
  if (shown.mount !== null) add("mount", [shown.mount]);
  return { ...options, values, rest: [shown.program, ...options.rest.slice(1)] };
}

interface ShownProgram {
  /** As `--mount` takes it; null where the image has it. */
  readonly mount: string | null;
  readonly program: string;
}

/** This machine's own program; null where another image is wanted, which then has to have it. */
function ownProgram(name: string, { values }: RequestOptions, { env }: Surroundings): ShownProgram | null {
  const image = values.get("image")?.[0] ?? env[IMAGE_VARIABLE] ?? "";
  const found = image === "" || image === "host" ? findProgram(name, env.PATH) : null;
  if (found === null) return null;
  const path = realpathSync(found);
  if (path.startsWith("/usr/")) return { mount: null, program: name };
  const packages = packagesAround(path);
  if (packages === null) return { mount: `${path}:${PLACE}/${name}:ro`, program: `${PLACE}/${name}` };
  const guest = `${PLACE}/node_modules`;
  return { mount: `${packages}:${guest}:ro`, program: posix.join(guest, posix.relative(packages, path)) };
}

/** The outermost folder of packages that a file lies in: a program's parts are packages beside it. */
function packagesAround(path: string): string | null {
  const at = path.indexOf("/node_modules/");
  return at < 0 ? null : path.slice(0, at + "/node_modules".length);
}
