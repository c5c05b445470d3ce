/** Finds the login for a registry where `docker login` put it: config.json, or the credential helper that it names. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { DEFAULT_REGISTRY } from "../reference.js";
import { askCredentialHelper } from "./credential-program.js";
import type { CredentialSource, Credentials } from "./credentials.js";

const MAX_CONFIG_BYTES = 1024 * 1024;
/** Docker's own registry is filed under the address that it had first. */
const DEFAULT_SERVER = "https://index.docker.io/v1/";

export function dockerConfigPath(env: NodeJS.ProcessEnv, homeDir: string): string {
  const folder = env.DOCKER_CONFIG;
  return join(folder === undefined || folder === "" ? join(homeDir, ".docker") : folder, "config.json");
}

/** The file is read when a registry first asks for a login. No file means no login. */
export function dockerConfigCredentials(configPath: string, env: NodeJS.ProcessEnv): CredentialSource {
  let config: Promise<unknown> | null = null;
  return async (registry) => {
    config ??= readConfig(configPath);
    return loginFor(registry, await config, configPath, env);
  };
}

async function readConfig(path: string): Promise<unknown> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return {};
    throw new AgentKernelError("invalid_policy", `${path} cannot be read`, { cause: error });
  }
  try {
    if (bytes.length <= MAX_CONFIG_BYTES) return JSON.parse(bytes.toString("utf8"));
  } catch {
    // The parser's message quotes the file, which holds secrets.
  }
  throw new AgentKernelError("invalid_policy", `${path} is not the JSON that Docker writes`, {
    hint: "repair it, or move it away and log in again",
  });
}

async function loginFor(
  registry: string,
  config: unknown,
  path: string,
  env: NodeJS.ProcessEnv,
): Promise<Credentials | null> {
  const server = registry === DEFAULT_REGISTRY ? DEFAULT_SERVER : registry;
  const helper = namesOf(registry)
    .map((name) => field(field(config, "credHelpers"), name))
    .find(isText);
  const chosen = helper ?? field(config, "credsStore");
  if (isText(chosen)) {
    const login = await askCredentialHelper(chosen, server, env);
    if (login !== null) return login;
  }
  const auths = field(config, "auths");
  if (typeof auths !== "object" || auths === null) return null;
  for (const [key, entry] of Object.entries(auths)) {
    if (!namesOf(registry).includes(hostOfKey(key))) continue;
    const login = loginOfEntry(entry, path, key);
    if (login !== null) return login;
  }
  return null;
}

function namesOf(registry: string): string[] {
  if (registry !== DEFAULT_REGISTRY) return [registry];
  return [DEFAULT_REGISTRY, "index.docker.io", "registry-1.docker.io", DEFAULT_SERVER];
}

/** Keys are hosts, or addresses with a scheme and a path. */
function hostOfKey(key: string): string {
  return key
    .replace(/^https?:\/\//, "")
    .replace(/\/.*$/, "")
    .toLowerCase();
}

function loginOfEntry(entry: unknown, path: string, key: string): Credentials | null {
  const token = field(entry, "identitytoken");
  if (isText(token)) return { kind: "identity-token", token };
  const auth = field(entry, "auth");
  if (isText(auth)) {
    const [username, password] = splitAtColon(Buffer.from(auth, "base64").toString("utf8"));
    if (username !== "" && password !== null) return { kind: "password", username, password };
    throw new AgentKernelError("invalid_policy", `the login for ${key} in ${path} is not one that Docker writes`, {
      hint: `docker logout ${key}, then docker login ${key}`,
    });
  }
  const username = field(entry, "username");
  const password = field(entry, "password");
  return isText(username) && isText(password) ? { kind: "password", username, password } : null;
}

function splitAtColon(text: string): [string, string | null] {
  const colon = text.indexOf(":");
  // Docker pads old files with NUL characters.
  return colon < 0 ? ["", null] : [text.slice(0, colon), text.slice(colon + 1).replace(/\0+$/, "")];
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
