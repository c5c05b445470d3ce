/**
 * Asks a Docker or Podman engine on this machine for an image, as the stream that `docker save` would give. Only over
 * a Unix socket: an engine elsewhere is another machine's.
 */
import { spawn } from "node:child_process";
import { type IncomingMessage, request } from "node:http";
import { engineSocket } from "../../core/engine-socket.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";

interface EngineRequest {
  readonly kind: "docker-engine" | "podman-engine";
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

const MAX_COMPLAINT_CHARS = 500;

export async function engineArchive(wanted: EngineRequest): Promise<AsyncIterable<Buffer>> {
  const socketPath = engineSocket(wanted.kind === "docker-engine" ? "docker" : "podman", wanted.env);
  if (socketPath !== null) return await askSocket(wanted, socketPath);
  if (wanted.kind === "podman-engine") return podmanSave(wanted);
  throw new AgentKernelError("not_found", "no Docker engine listens on this machine", {
    hint: "start it, name its socket in DOCKER_HOST=unix://…, or import the output of docker save",
  });
}

function askSocket({ name, signal }: EngineRequest, socketPath: string): Promise<AsyncIterable<Buffer>> {
  return new Promise((resolve, reject) => {
    const path = `/images/${encodeURIComponent(name)}/get`;
    const asked = request({ socketPath, path, ...(signal === undefined ? {} : { signal }) }, (answer) => {
      if (answer.statusCode === 200) {
        resolve(answer as AsyncIterable<Buffer>);
        return;
      }
      void complaintOf(answer).then((complaint) => reject(refusal(name, answer.statusCode ?? 0, complaint)), reject);
    });
    asked.once("error", (cause) => {
      const code = "code" in cause ? ` (${cause.code})` : "";
      const message = `the engine at ${escapeText(socketPath)} cannot be asked${code}`;
      reject(new AgentKernelError("not_found", message, { hint: "is it running, and may you use it?", cause }));
    });
    asked.end();
  });
}

async function complaintOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of answer as AsyncIterable<Buffer>) {
    text += part.toString("utf8");
    if (text.length > 64 * 1024) break;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "message" in value) return String(value.message);
  } catch {
    // Not every engine answers in JSON.
  }
  return text.trim();
}

function refusal(name: string, status: number, complaint: string): AgentKernelError {
  const reason = escapeText(complaint.slice(0, MAX_COMPLAINT_CHARS));
  return new AgentKernelError("image_not_found", `the engine has no image ${name}, or does not give it (${status})`, {
    hint: reason === "" ? "list what it has: docker images, or podman images" : `it says: ${reason}`,
  });
}

/** Podman needs no service to be there. */
async function* podmanSave({ name, env, signal }: EngineRequest): AsyncGenerator<Buffer, void, void> {
  const child = spawn("podman", ["save", "--quiet", "--", name], {
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe"],
    shell: false,
    ...(signal === undefined ? {} : { signal }),
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT_CHARS);
  });
  const ended = new Promise<{ status: number | null; error: Error | null }>((resolve) => {
    child.once("error", (error) => resolve({ status: null, error }));
    child.once("close", (status) => resolve({ status, error: null }));
  });
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const { status, error } = await ended;
    signal?.throwIfAborted();
    if (error !== null) {
      throw new AgentKernelError("not_found", "podman is not installed, and no service of it listens", {
        hint: "import the output of podman save or docker save",
        cause: error,
      });
    }
    if (status !== 0) throw refusal(name, status ?? 0, complaint.trim());
  } finally {
    child.kill("SIGKILL");
  }
}
