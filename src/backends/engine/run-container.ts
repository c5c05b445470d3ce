/**
 * A container that serves one owner and dies with it: its guest ends when its stream does, and the engine removes what
 * has ended. What an owner that was killed leaves between two steps is swept (sweep.ts).
 */
import type { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, CarryReport, Layer, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { beginHostTree, type HostTree } from "../../guest/host-tree.js";
import {
  beginProject,
  bringChanges,
  carryChanges,
  limitChanges,
  removeProject,
  temporaryProject,
  writeListing,
} from "../entry/copied-project.js";
import { entryOrder } from "../entry/order.js";
import { awaitEntry, giveOrder } from "../entry/talk.js";
import { type CopiedView, copiedViews, liveViews, trackedView } from "../entry/views.js";
import { Container } from "./container.js";
import { containerSpec, ENTRY } from "./container-spec.js";
import type { Engine } from "./engine.js";
import { HeldFolders } from "./held-folders.js";
import { endOf } from "./kept/end.js";
import { ownedLabels } from "./labels.js";
import type { MuxedStream } from "./muxed-stream.js";
import { abandon } from "./sweep.js";
import { nothingKnown, usageOf } from "./usage.js";

interface Parts {
  readonly container: Container;
  readonly stream: MuxedStream;
  readonly status: Promise<number | null>;
  readonly trees: readonly HostTree[];
  readonly isDocker: boolean;
}

/** How long a container whose stream has ended may take to end by itself. */
const LEAVE_MS = 2000;

export class RunContainer {
  readonly #container: Container;
  readonly #stream: MuxedStream;
  readonly #ending = deferred<UsedSoFar>();
  #used: UsedSoFar = nothingKnown;
  readonly ended: Promise<SandboxEnd>;
  #asked: Promise<void> | null = null;
  #finished: Promise<SandboxEnd> | null = null;
  #stateDir: string | null = null;
  #carried: CarryReport | null = null;
  /** Where it shows folders of the host's live. */
  #held: HeldFolders | null = null;
  readonly #inspected: Promise<void>;
  /** What it will show, where that was known before it was started. */
  readonly #trees: readonly HostTree[];
  readonly #isDocker: boolean;
  /** Of its first process, on the engine's machine; 0 until it is known. */
  #pid = 0;

  private constructor({ container, stream, status, trees, isDocker }: Parts) {
    this.#container = container;
    this.#trees = trees;
    this.#isDocker = isDocker;
    this.#stream = stream;
    stream.on("error", () => {});
    // One that cannot be spoken to any more has no use left, unless its project is still to be looked at.
    stream.once("close", () => {
      if (this.#stateDir === null) void this.#end();
    });
    this.ended = this.#awaitEnd(status);
    this.ended.catch(() => {});
    // Known in time, so that nothing has to be asked when it ends.
    this.#inspected = container.inspect().then(
      (state) => {
        this.#pid = state?.pid ?? 0;
      },
      () => {},
    );
  }

  /** Started, and waiting for its order. Nothing of it is left where this rejects. */
  static async start(
    engine: Engine,
    boot: BootSpec,
    kind: "run" | "warm",
    signal?: AbortSignal,
  ): Promise<RunContainer> {
    signal?.throwIfAborted();
    const { client, programs } = engine;
    const views = copiedViews(boot);
    const live = liveViews(boot);
    const labels = ownedLabels(kind, boot.id);
    const files = engine.sharedFiles();
    const spec = containerSpec({
      boot,
      views,
      live,
      labels,
      programs,
      files,
      isKept: false,
      maxProcesses: engine.maxProcesses,
    });
    const made = Container.create(client, `agentkernel-${boot.hostname}`, spec);
    const trees = kind === "run" ? await readBeside(made, views, boot, signal) : [];
    const container = await made.catch((error: unknown) => {
      for (const tree of trees) tree.abandon();
      throw error;
    });
    let stream: MuxedStream | null = null;
    try {
      signal?.throwIfAborted();
      stream = await container.attach();
      const opened = stream;
      const giveUp = () => opened.destroy();
      signal?.addEventListener("abort", giveUp, { once: true });
      try {
        await container.start();
        const status = container.awaitEnd();
        status.catch(() => {});
        await awaitEntry(opened);
        return new RunContainer({
          container,
          stream: opened,
          status,
          trees,
          isDocker: engine.kind === "docker",
        });
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

  /** Once: what it is to show and to be. It is gone where this rejects. */
  async boot(engine: Engine, boot: BootSpec, signal?: AbortSignal): Promise<BootedSandbox> {
    const giveUp = () => this.#stream.destroy();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", giveUp, { once: true });
      const views = copiedViews(boot);
      const live = liveViews(boot);
      const order = entryOrder(boot, { views, live, isKept: false });
      const stateDir = await this.#begin(engine, boot, views);
      this.#held = live.length === 0 ? null : await HeldFolders.start(live, boot, engine.folder);
      await this.#held?.untilEnd(this.#container);
      const { found } = this.#held ?? {};
      const begun = await giveOrder(this.#stream, {
        order,
        views,
        hide: boot.policy.fs.deny,
        trees: this.#trees,
        found,
        signal,
      });
      if (stateDir !== null && begun.listing !== null) await writeListing(stateDir, begun.listing);
      await this.#inspected;
      return this.#booted([...engine.layersOf(boot), ...begun.layers]);
    } catch (error) {
      await this.kill().catch(() => {});
      throw signal?.aborted ? signal.reason : explained(error, this.#stream);
    } finally {
      for (const tree of this.#trees) tree.abandon();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Where its changes are to be carried over: the folder for what is known of the project. */
  async #begin(engine: Engine, boot: BootSpec, views: readonly CopiedView[]): Promise<string | null> {
    const tracked = trackedView(views, false);
    if (tracked === null) return null;
    this.#stateDir = await temporaryProject(engine.folder, boot.id);
    await beginProject(this.#stateDir, tracked, boot);
    await limitChanges(this.#stateDir, boot);
    return this.#stateDir;
  }

  #booted(layers: readonly Layer[]): BootedSandbox {
    return {
      stream: this.#stream as Duplex,
      layers,
      ended: this.ended,
      ending: this.#ending.promise,
      finish: () => this.finish(),
      kill: () => this.kill(),
    };
  }

  /** Idempotent, as `kill` is; the first of both counts. */
  async finish(): Promise<SandboxEnd> {
    this.#finished ??= this.#finish();
    return await this.#finished;
  }

  async #finish(): Promise<SandboxEnd> {
    // Podman does not tell a container that nobody speaks to it any more.
    if (this.#stateDir === null && this.#isDocker) {
      this.#asked ??= this.#leave();
      return await this.ended;
    }
    const { error } = await this.#carry().then(
      () => ({ error: null }),
      (error: unknown) => ({ error }),
    );
    await this.#end();
    const end = await this.ended;
    if (error !== null) throw error;
    return end;
  }

  async #carry(): Promise<void> {
    const stateDir = this.#stateDir;
    if (stateDir === null || this.#asked !== null) return;
    const stream = await this.#container.exec([ENTRY, "gather"], "0:0").catch(gone);
    try {
      await bringChanges(stateDir, stream, "last");
      this.#carried = await carryChanges(stateDir);
    } catch (error) {
      throw explained(error, stream);
    } finally {
      stream.destroy();
    }
  }

  /** Idempotent. */
  async kill(): Promise<SandboxEnd> {
    if (this.#finished !== null) return await this.#finished;
    await this.#end();
    return await this.ended;
  }

  #end(): Promise<void> {
    this.#asked ??= this.#kill();
    return this.#asked;
  }

  async #kill(): Promise<void> {
    this.#look();
    // An engine that does not answer is heard of by whoever waits for the end.
    await this.#container.kill().catch(() => {});
    this.#stream.destroy();
  }

  /** Its guest ends when its stream does, which is sooner than an engine has made somebody kill it. */
  async #leave(): Promise<void> {
    this.#look();
    this.#stream.destroy();
    const impatience = setTimeout(() => void this.#container.kill().catch(() => {}), LEAVE_MS);
    await this.ended.catch(() => {});
    clearTimeout(impatience);
  }

  /** At once: its stream may be closed in the same turn, and then nothing is left to look at. */
  #look(): void {
    this.#used = this.#pid === 0 ? nothingKnown : usageOf(this.#pid, this.#container.id);
    this.#ending.resolve(this.#used);
  }

  async #awaitEnd(status: Promise<number | null>): Promise<SandboxEnd> {
    const code = await status.catch((error: unknown) => {
      abandon(this.#container.id);
      throw new AgentKernelError("sandbox_died", "the engine that ran the sandbox is gone", { cause: error });
    });
    this.#stream.destroy();
    const removed = this.#container.remove();
    // Nothing of it runs any more, and Docker itself removes it, also after a restart: nobody has to wait until it has.
    // For Podman somebody else does, who can be killed.
    if (this.#isDocker) removed.catch(() => abandon(this.#container.id));
    else await removed;
    const { oomKills, pidsDenied, memoryPeakBytes, cpuUs } = this.#used;
    if (this.#stateDir !== null) await removeProject(this.#stateDir);
    await this.#held?.ended;
    return { ...endOf(code), oomKills, pidsDenied, memoryPeakBytes, cpuUs, carried: this.#carried };
  }
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

function gone(cause: unknown): never {
  throw new AgentKernelError("sandbox_died", "the container ended before its changes could be carried over", { cause });
}

/** With what the container's first program, or what started it, said last. */
export function explained(error: unknown, stream: MuxedStream | null): unknown {
  if (!(error instanceof AgentKernelError) || stream === null || stream.words === "") return error;
  return new AgentKernelError(error.code, `${error.message}: ${escapeText(stream.words)}`, { cause: error });
}
