/**
 * Images that the engine has of copies. They have no name, so that nothing can be mistaken for them, and are found by
 * their label alone. Which folders need one is written down beside the engine's other files before there is an image, so
 * that whatever was killed on the way is known to be nobody's, also where the engine finished it later.
 */
import { closeSync, existsSync, mkdirSync, openSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AgentKernelError } from "../../../core/errors.js";
import { EngineRefusal } from "../client.js";
import { textField } from "../container.js";
import type { Engine } from "../engine.js";
import { type Labels, labels, userLabel } from "../labels.js";

const NOT_FOUND = 404;
const CONFLICT = 409;

interface FoundImage {
  readonly id: string;
  readonly token: string;
}

/** From now on the folder with this holder's name needs the image of this token. Done again, it changes nothing. */
export function hold(engine: Engine, token: string, holder: string): void {
  mkdirSync(folderOf(engine, token), { recursive: true, mode: 0o700 });
  closeSync(openSync(join(folderOf(engine, token), holder), "w", 0o600));
}

/** The image goes with the last that needed it. */
export async function letGo(engine: Engine, token: string, holder: string): Promise<void> {
  rmSync(join(folderOf(engine, token), holder), { force: true });
  try {
    rmdirSync(folderOf(engine, token));
  } catch (error) {
    if (!isCode(error, "ENOENT") && !isCode(error, "ENOTEMPTY")) throw error;
  }
  await sweepCopyImages(engine);
}

/** What is in the container's root, as it is now; the container does not run, or is paused. */
export async function commit(engine: Engine, container: string, token: string, signal?: AbortSignal): Promise<string> {
  const words = Object.entries(labelsOf(engine, token)).map(
    ([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`,
  );
  const query = { container, pause: "0", changes: words.join("\n") };
  try {
    return textField(await engine.client.post("/commit", { query, body: {}, signal }), "Id");
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    const isFull = /no space left/i.test(error.message);
    const message = `the engine makes no copy of the container: ${error.message}`;
    throw new AgentKernelError(isFull ? "resource_exhausted" : "internal", message, {
      ...(isFull ? { hint: "make room on the engine's disk" } : {}),
      cause: error,
    });
  }
}

/** Those that nobody needs. One that another image or a container stands on stays until that is gone. */
export async function sweepCopyImages(engine: Engine): Promise<void> {
  for (let isDone = false; !isDone; ) {
    const orphans = (await ownImages(engine)).filter(({ token }) => !existsSync(folderOf(engine, token)));
    let removed = 0;
    for (const { id } of orphans) if (await removeImage(engine, id)) removed++;
    isDone = removed === 0 || removed === orphans.length;
  }
}

async function ownImages(engine: Engine): Promise<readonly FoundImage[]> {
  const { [labels.copy]: _, ...known } = labelsOf(engine, "");
  // Podman finds nothing where more than one label is asked for.
  const filters = JSON.stringify({ label: [`${labels.kind}=copy`] });
  const found = await engine.client.get("/images/json", { query: { all: "1", filters } });
  const list: readonly unknown[] = Array.isArray(found) ? found : [];
  return list.flatMap((one) => {
    const told = typeof one === "object" && one !== null ? (Reflect.get(one, "Labels") as Labels | null) : null;
    const token = told?.[labels.copy];
    const isOwn = Object.entries(known).every(([name, value]) => told?.[name] === value);
    return !isOwn || token === undefined || !/^[0-9a-f]+$/.test(token) ? [] : [{ id: textField(one, "Id"), token }];
  });
}

async function removeImage({ client }: Engine, id: string): Promise<boolean> {
  try {
    // Without this an engine also removes what it stood on, where that has no name.
    await client.delete(`/images/${encodeURIComponent(id)}`, { query: { noprune: "1" } });
    return true;
  } catch (error) {
    if (error instanceof EngineRefusal && (error.status === CONFLICT || error.status === NOT_FOUND)) return false;
    throw error;
  }
}

function labelsOf({ folder }: Engine, token: string): Labels {
  return {
    [labels.kind]: "copy",
    [labels.user]: userLabel(),
    [labels.state]: folder,
    [labels.copy]: token,
  };
}

function folderOf({ folder }: Engine, token: string): string {
  return join(folder, "copies", token);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
