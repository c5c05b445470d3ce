/**
 * How each argument of a tool is held to what the user gave. Every argument of every tool has a rule here: a tool with
 * another one does not compile, and `test/security/agents/a11-mcp-arguments.test.ts` attacks each of them.
 */
import type { PolicyBody } from "../api/commands/prepare.js";

/**
 * - `held`: it says what a sandbox may do or is made of. The whole of it is compared with what the user gave: each field
 *   of the policy, the backend, the image.
 * - `reach`: it names a sandbox, which must be one of the session's, or of its project.
 * - `life`: it can only end something sooner.
 * - `data`: it is passed into the sandbox or shapes the answer, and opens nothing.
 */
type ArgumentRule = "held" | "reach" | "life" | "data";

/** What makes a sandbox: the bodies of the HTTP interface have the same fields. */
type Made = Omit<PolicyBody, "dir"> & { readonly command: unknown };

const made = {
  image: "held",
  profile: "held",
  compatibility_mode: "held",
  network: "held",
  resources: "held",
  user: "held",
  workspace: "held",
  timeout_ms: "held",
  backend: "held",
  lang: "held",
  module: "held",
  // With the backend wasm it names a file, which must be the project's.
  command: "held",
  // No tool has these: they are the user's word.
  mounts: "held",
  secrets: "held",
  publish: "held",
  env: "data",
  cwd: "data",
} as const satisfies Readonly<Record<keyof Made, ArgumentRule>>;

export const argumentRules = {
  ...made,
  name: "reach",
  path: "data",
  content: "data",
  encoding: "data",
  mode: "data",
  offset: "data",
  limit: "data",
  streaming: "data",
  exec: "data",
  ttl: "life",
  idle_timeout: "life",
  // Of code mode: its programs have a sandbox without network, and what they call is decided by its own rules.
  code: "data",
  language: "data",
  project: "held",
  query: "data",
  tools: "data",
} as const satisfies Readonly<Record<string, ArgumentRule>>;

export type ArgumentName = keyof typeof argumentRules;
