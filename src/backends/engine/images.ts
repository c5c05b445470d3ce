/** Images in the engine's own store: found there, or pulled by the engine with the user's settings of that engine. */
import type { OwnImage, OwnImageRequest } from "../../core/backend.js";
import type { EngineKind } from "../../core/engine-socket.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { type EngineClient, EngineRefusal } from "./client.js";
import { textField } from "./container.js";
import type { Engine } from "./engine.js";

const NOT_FOUND = 404;

export async function findEngineImage({ client, kind }: Engine, request: OwnImageRequest): Promise<OwnImage> {
  const { reference, pull } = request;
  if (reference === "host") {
    throw new AgentKernelError("unsupported", "the image host is not possible on this backend", {
      hint: ({ name }) => `name an image with ${name("image")}: an engine runs images, not this machine's own programs`,
    });
  }
  const found = pull === "always" ? null : await look({ client, kind }, reference);
  if (found !== null) return found;
  if (pull === "never") {
    throw new AgentKernelError("image_not_found", `the engine has no image ${escapeText(reference)}`, {
      hint: "load it into the engine (docker load, podman load), or leave out --pull never",
    });
  }
  await pullImage(client, request);
  const pulled = await look({ client, kind }, reference);
  if (pulled !== null) return pulled;
  throw new AgentKernelError("image_unavailable", `${escapeText(reference)} was pulled, and is not there`);
}

async function look({ client, kind }: Pick<Engine, "client" | "kind">, reference: string): Promise<OwnImage | null> {
  try {
    return imageOf(kind, await client.get(`/images/${encodeURIComponent(reference)}/json`));
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === NOT_FOUND) return null;
    throw refused(reference, error);
  }
}

async function pullImage(client: EngineClient, { reference, onPull, signal }: OwnImageRequest): Promise<void> {
  try {
    for await (const line of client.lines("/images/create", { query: pullQuery(reference), signal })) {
      const complaint = member(line, "error");
      if (complaint !== null) throw new EngineRefusal(0, complaint);
      const part = partOf(line);
      if (part !== null) onPull?.(part);
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw refused(reference, error);
  }
}

/** Of an engine's words on a pull, those that say how much of a layer there is. */
export function partOf(line: unknown): { id: string; doneBytes: number; totalBytes: number } | null {
  const id = member(line, "id");
  const detail: unknown = typeof line === "object" && line !== null ? Reflect.get(line, "progressDetail") : null;
  if (id === null || typeof detail !== "object" || detail === null) return null;
  const [doneBytes, totalBytes] = [Reflect.get(detail, "current") as unknown, Reflect.get(detail, "total") as unknown];
  return typeof doneBytes === "number" && typeof totalBytes === "number" ? { id, doneBytes, totalBytes } : null;
}

/** Without a tag an engine would take every tag there is. */
export function pullQuery(reference: string): Readonly<Record<string, string>> {
  const isWhole = reference.includes("@") || /:[^/]*$/.test(reference);
  return { fromImage: isWhole ? reference : `${reference}:latest` };
}

function imageOf(engine: EngineKind, answer: unknown): OwnImage {
  const config: unknown = typeof answer === "object" && answer !== null ? Reflect.get(answer, "Config") : null;
  const list = (name: string): readonly string[] => {
    const found: unknown = typeof config === "object" && config !== null ? Reflect.get(config, name) : null;
    return Array.isArray(found) ? found.map(String) : [];
  };
  const id = textField(answer, "Id");
  const user = member(config, "User");
  const workdir = member(config, "WorkingDir");
  return {
    source: { kind: "engine", engine, id },
    defaults: {
      env: list("Env"),
      entrypoint: list("Entrypoint"),
      cmd: list("Cmd"),
      workdir: workdir === "" ? null : workdir,
      user: user === "" ? null : user,
    },
    digest: id.startsWith("sha256:") ? id : `sha256:${id}`,
  };
}

function member(value: unknown, name: string): string | null {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : null;
  return typeof found === "string" ? found : null;
}

function refused(reference: string, error: unknown): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  const message = `the engine cannot get ${escapeText(reference)}: ${error.message}`;
  return new AgentKernelError("image_unavailable", message, { cause: error });
}
