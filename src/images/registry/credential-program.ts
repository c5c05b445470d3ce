/**
 * Asks a `docker-credential-…` program for a login. Its answer is bounded in size and time, and neither its output nor
 * its complaints are ever repeated: both may hold the secret.
 */
import { spawn } from "node:child_process";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Credentials } from "./credentials.js";

const MAX_OUTPUT_BYTES = 64 * 1024;
const DEADLINE_MS = 30_000;
/** It becomes a part of a program's name, so it cannot be a path or an option. */
const HELPER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** How helpers say that there is no login; it goes to stdout, with a status that is not zero. */
const NOT_FOUND = "credentials not found";

export async function askCredentialHelper(
  helper: string,
  server: string,
  env: NodeJS.ProcessEnv,
): Promise<Credentials | null> {
  if (!HELPER.test(helper)) {
    const shown = escapeText(helper.slice(0, 64));
    throw new AgentKernelError("invalid_policy", `"${shown}" in Docker's config.json is no credential helper's name`);
  }
  const program = `docker-credential-${helper}`;
  const { status, output } = await runHelper(program, server, env);
  if (status !== 0) {
    if (output.includes(NOT_FOUND)) return null;
    throw failed(program, `ended with status ${status ?? "unknown"}`);
  }
  return loginOf(output, program);
}

function failed(program: string, why: string, cause?: unknown): AgentKernelError {
  return new AgentKernelError("registry_unauthorized", `the credential helper ${program} ${why}`, {
    hint: `run it by hand to see why: echo SERVER | ${program} get`,
    cause,
  });
}

function runHelper(
  program: string,
  server: string,
  env: NodeJS.ProcessEnv,
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["get"], { env, stdio: ["pipe", "pipe", "ignore"], shell: false });
    const parts: Buffer[] = [];
    let length = 0;
    const give = (why: string): void => {
      child.kill("SIGKILL");
      reject(failed(program, why));
    };
    const deadline = setTimeout(() => give(`did not answer within ${DEADLINE_MS / 1000} s`), DEADLINE_MS);
    child.stdout.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_OUTPUT_BYTES) give("answered with too much text");
      else parts.push(chunk);
    });
    // A helper that ends without reading its input is judged by its status.
    child.stdin.on("error", () => {});
    child.stdin.end(`${server}\n`);
    child.once("error", (error) => {
      clearTimeout(deadline);
      const missing = "code" in error && error.code === "ENOENT";
      reject(failed(program, missing ? "is not installed" : "cannot be started", error));
    });
    child.once("close", (status) => {
      clearTimeout(deadline);
      resolve({ status, output: Buffer.concat(parts).toString("utf8") });
    });
  });
}

function loginOf(output: string, program: string): Credentials | null {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    // The parser's message quotes the output.
    throw failed(program, "gave an answer that is no JSON");
  }
  const { Username: username, Secret: secret }: { Username?: unknown; Secret?: unknown } =
    typeof value === "object" && value !== null ? value : {};
  if (typeof username !== "string" || typeof secret !== "string") throw failed(program, "gave no user name or secret");
  if (secret === "") return null;
  if (username === "<token>") return { kind: "identity-token", token: secret };
  return { kind: "password", username, password: secret };
}
