/** The way to a container that runs and hears its order, or has it already. What was begun is undone where it fails. */
import type { Duplex } from "node:stream";
import type { BootSpec } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { beginHostTree, type HostTree } from "../../guest/host-tree.js";
import { entryOrder } from "../entry/order.js";
import type { Preface } from "../entry/preface.js";
import { awaitEntry, type Begun, giveOrder } from "../entry/talk.js";
import { type CopiedView, type ShownViews, trackedView } from "../entry/views.js";
import { Container } from "./container.js";
import { containerSpec } from "./container-spec.js";
import type { Engine } from "./engine.js";
import { HeldFolders } from "./held-folders.js";
import { ownedLabels } from "./labels.js";
import type { MuxedStream } from "./muxed-stream.js";
import { hasLive } from "./shown-views.js";

export interface StartedContainer {
  readonly container: Container;
  readonly stream: MuxedStream;
  readonly preface: Preface;
  readonly status: Promise<number | null>;
  readonly views: ShownViews;
  /** What it will copy, where that was known. */
  readonly trees: readonly HostTree[];
  /** Null where it waits for its order. */
  readonly begun: Promise<Begun> | null;
  readonly isDocker: boolean;
}

interface StartOptions {
  readonly views: ShownViews;
  /** One for a run that is known, or one that is built ahead. */
  readonly kind: "run" | "warm";
  readonly signal?: AbortSignal | undefined;
  readonly onStream?: ((stream: Duplex) => void) | undefined;
  /** The engine is at work, and there is time for something else. */
  readonly beside?: () => void;
}

/** Nothing of it is left where this rejects. */
export async function startContainer(
  engine: Engine,
  boot: BootSpec,
  { kind, views, signal, onStream, beside }: StartOptions,
): Promise<StartedContainer> {
  signal?.throwIfAborted();
  const made = create(engine, boot, kind, views);
  const trees = kind === "run" ? await readBeside(made, views.copied, boot, signal) : [];
  const isOrdered = isFree(kind, views);
  const found = isOrdered && views.live.length > 0 ? HeldFolders.search(views.live, boot, engine.folder) : undefined;
  found?.catch(() => {});
  const container = await made.catch((error: unknown) => {
    for (const tree of trees) tree.abandon();
    throw error;
  });
  let stream: MuxedStream | null = null;
  try {
    signal?.throwIfAborted();
    stream = await container.attach();
    const opened = stream;
    opened.on("error", () => {});
    const giveUp = () => opened.destroy();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const preface = opened.beginPreface();
      const here = awaitEntry(preface);
      here.catch(() => {});
      const started = container.start();
      const begun = isOrdered
        ? giveOrder(preface, {
            order: entryOrder(boot, { views: views.copied, live: views.live, isKept: false }),
            views: views.copied,
            hide: boot.policy.fs.deny,
            trees,
            found,
            here,
            onDelivered: () => onStream?.(opened),
            onStarted: () => opened.endPreface(),
            signal,
          })
        : null;
      begun?.catch(() => {});
      beside?.();
      await started;
      const status = container.awaitEnd();
      status.catch(() => {});
      await here;
      return { container, stream: opened, preface, status, views, trees, begun, isDocker: engine.kind === "docker" };
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  } catch (error) {
    stream?.destroy();
    for (const tree of trees) tree.abandon();
    await container.remove();
    throw signal?.aborted ? signal.reason : explained(error, stream);
  }
}

function create(
  engine: Engine,
  boot: BootSpec,
  kind: StartOptions["kind"],
  { copied, live }: ShownViews,
): Promise<Container> {
  const spec = containerSpec({
    boot,
    views: copied,
    live,
    labels: ownedLabels(kind, boot.id, engine.folder),
    programs: engine.programs,
    files: engine.sharedFiles(),
    isKept: false,
    maxProcesses: engine.maxProcesses,
  });
  return Container.create(engine.client, `agentkernel-${boot.hostname}`, spec);
}

/**
 * Whether its order can be written before it is started, to be read when it is: not where something has to be known of
 * the running container first, or of the project before anything of it is read.
 */
function isFree(kind: StartOptions["kind"], views: ShownViews): boolean {
  return kind === "run" && !hasLive(views) && trackedView(views.copied, false) === null;
}

/**
 * Begins to read what will be shown while the engine makes the container, when that request has left. Never rejects:
 * whatever is in the way is met again by whoever reads without this, and told by them. Not where changes are told from
 * what was read, since the host's own count from a moment before that.
 */
async function readBeside(
  made: Promise<Container>,
  views: readonly CopiedView[],
  boot: BootSpec,
  signal?: AbortSignal,
): Promise<readonly HostTree[]> {
  made.catch(() => {});
  if (trackedView(views, false) !== null) return [];
  await new Promise((resolve) => setImmediate(resolve));
  const begun: HostTree[] = [];
  try {
    for (const { source } of views) {
      begun.push(beginHostTree(source, boot.policy.fs.deny, { signal, holes: true }));
    }
    return begun;
  } catch {
    for (const tree of begun) tree.abandon();
    return [];
  }
}

/** With what the container's first program, or what started it, said last. */
export function explained(error: unknown, stream: MuxedStream | null): unknown {
  if (!(error instanceof AgentKernelError) || stream === null || stream.words === "") return error;
  return new AgentKernelError(error.code, `${error.message}: ${escapeText(stream.words)}`, { cause: error });
}
