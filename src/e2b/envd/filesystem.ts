/** `filesystem.Filesystem`: everything about files but their content. */
import { posix } from "node:path";
import { recorded } from "../../api/resources/files.js";
import { field, object, optional } from "../../api/schema/object-shape.js";
import { flag, text, whole } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import { invalid } from "../errors.js";
import { type EnvdCall, pathInside } from "./call.js";
import { entryOf, statIfThere, walk } from "./entries.js";
import type { Method } from "./method.js";
import { DirWatch, type FileEvent } from "./watch.js";

const MOST_ENTRIES = 100_000;

const path = text({ maxLength: 4096, expected: "a path" });
const ofPath = object({ path: optional(path, "Which.") });
const moveRequest = object({ source: field(path, "From where."), destination: field(path, "To where.") });
const listRequest = object({
  path: optional(path, "Which folder."),
  depth: optional(whole({ min: 0, max: 1000 }), "How deep."),
});
const watchRequest = object({
  path: optional(path, "Which folder."),
  recursive: optional(flag(), "And all below."),
  includeEntry: optional(flag(), "Events say what became of it."),
  allowNetworkMounts: optional(flag(), "There are none."),
});
const ofWatcher = object({ watcherId: field(text({ maxLength: 100 }), "Which.") });

/** The path itself, as it is resolved inside. */
function resolved(call: EnvdCall, given: string | undefined): string {
  if (given?.includes("\0")) throw invalid("path", "has a NUL in it");
  return posix.normalize(pathInside(call, given ?? ""));
}

function absent(where: string): AgentKernelError {
  return new AgentKernelError("not_found", `path not found: ${where}`);
}

const stat: Method = {
  kind: "single",
  serve: async (call, message) => {
    const where = resolved(call, ofPath.read(message, "").path);
    const found = await statIfThere(call.sandbox.files, where);
    if (found === undefined) throw absent(where);
    return { entry: entryOf(where, found) };
  },
};

const makeDir: Method = {
  kind: "single",
  serve: async (call, message) => {
    const where = resolved(call, ofPath.read(message, "").path);
    return await recorded(call.sandbox, "write", where, async (files) => {
      const there = await statIfThere(files, where);
      if (there?.type === "dir") throw new AgentKernelError("conflict", `directory already exists: ${where}`);
      if (there !== undefined) throw invalid("path", "already exists but it is not a directory");
      await files.mkdir(where, { parents: true });
      return { entry: entryOf(where, await files.stat(where)) };
    });
  },
};

const move: Method = {
  kind: "single",
  serve: async (call, message) => {
    const asked = moveRequest.read(message, "");
    const [from, to] = [resolved(call, asked.source), resolved(call, asked.destination)];
    return await recorded(call.sandbox, "write", to, async (files) => {
      if ((await statIfThere(files, from)) === undefined) throw absent(from);
      await files.mkdir(posix.dirname(to), { parents: true });
      await files.rename(from, to);
      return { entry: entryOf(to, await files.stat(to)) };
    });
  },
};

const listDir: Method = {
  kind: "single",
  serve: async (call, message) => {
    const asked = listRequest.read(message, "");
    const where = resolved(call, asked.path);
    const { files } = call.sandbox;
    const found = await statIfThere(files, where);
    if (found === undefined) throw absent(where);
    if (found.type === "file") throw invalid("path", "is not a directory");
    const entries = await walk(files, where, { depth: asked.depth || 1, most: MOST_ENTRIES });
    return { entries: entries.map(([inside, entry]) => entryOf(inside, entry)) };
  },
};

/** What is not there is removed already. */
const remove: Method = {
  kind: "single",
  serve: async (call, message) => {
    const where = resolved(call, ofPath.read(message, "").path);
    return await recorded(call.sandbox, "delete", where, async (files) => {
      if ((await statIfThere(files, where)) !== undefined) await files.remove(where, { recursive: true });
      return {};
    });
  },
};

async function watchOf(call: EnvdCall, message: Parameters<typeof watchRequest.read>[0]): Promise<DirWatch> {
  const asked = watchRequest.read(message, "");
  const where = resolved(call, asked.path);
  const found = await statIfThere(call.sandbox.files, where);
  if (found === undefined) throw absent(where);
  if (found.type === "file") throw invalid("path", "is not a directory");
  return await DirWatch.open(call.sandbox, where, asked.recursive === true);
}

function shown({ name, type }: FileEvent): object {
  return { name, type: `EVENT_TYPE_${type}` };
}

const watchDir: Method = {
  kind: "stream",
  serve: async (call, message, stream) => {
    const watch = await watchOf(call, message);
    stream.send({ start: {} });
    const seconds = Number(call.request.headers["keepalive-ping-interval"]);
    const isAsked = Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600;
    const beats = isAsked ? setInterval(() => stream.send({ keepalive: {} }), seconds * 1000).unref() : undefined;
    await new Promise<void>((resolve) => {
      watch.follow((event) => stream.send({ filesystem: shown(event) }), resolve);
      call.response.once("close", () => resolve());
      call.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    clearInterval(beats);
    watch.close();
  },
};

const createWatcher: Method = {
  kind: "single",
  serve: async (call, message) => ({ watcherId: call.watchers.add(call.sandbox, await watchOf(call, message)) }),
};

const getWatcherEvents: Method = {
  kind: "single",
  serve: async (call, message) => {
    const watch = call.watchers.find(call.sandbox, ofWatcher.read(message, "").watcherId);
    return { events: (await watch.taken()).map(shown) };
  },
};

const removeWatcher: Method = {
  kind: "single",
  serve: async (call, message) => {
    call.watchers.remove(call.sandbox, ofWatcher.read(message, "").watcherId);
    return {};
  },
};

export const filesystem: Readonly<Record<string, Method>> = {
  Stat: stat,
  MakeDir: makeDir,
  Move: move,
  ListDir: listDir,
  Remove: remove,
  WatchDir: watchDir,
  CreateWatcher: createWatcher,
  GetWatcherEvents: getWatcherEvents,
  RemoveWatcher: removeWatcher,
};
