/**
 * A container that serves one owner and dies with it: its guest ends when its stream does, and the engine removes what
 * has ended. What an owner that was killed leaves between two steps is swept (sweep.ts).
 */
import type { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, CarryReport, Layer, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import type { HostTree } from "../../guest/host-tree.js";
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
import type { Preface } from "../entry/preface.js";
import { type Begun, giveOrder } from "../entry/talk.js";
import { type CopiedView, type ShownViews, trackedView } from "../entry/views.js";
import type { Container } from "./container.js";
import type { Engine } from "./engine.js";
import { FirstProcess } from "./first-process.js";
import { HeldFolders } from "./held-folders.js";
import type { MuxedStream } from "./muxed-stream.js";
import { endOf } from "./persistent/end.js";
import { hasLive } from "./shown-views.js";
import { explained, type StartedContainer } from "./start-container.js";
import { abandon } from "./sweep.js";
import { nothingKnown } from "./usage.js";

/** How long a container whose stream has ended may take to end by itself. */
const LEAVE_MS = 2000;

interface BootOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onStream?: ((stream: Duplex) => void) | undefined;
}

export class RunContainer {
  readonly #container: Container;
  readonly #stream: MuxedStream;
  /** Its first program, before the guest. */
  readonly #preface: Preface;
  readonly #ending = deferred<UsedSoFar>();
  #used: UsedSoFar = nothingKnown;
  readonly ended: Promise<SandboxEnd>;
  readonly #removed = deferred<void>();
  readonly #announced = deferred<void>();
  #asked: Promise<void> | null = null;
  #finished: Promise<SandboxEnd> | null = null;
  #stateDir: string | null = null;
  #carried: CarryReport | null = null;
  /** Where it shows folders of the host's live. */
  #held: HeldFolders | null = null;
  readonly #inspected: Promise<void>;
  readonly #views: ShownViews;
  /** What it will copy, where that was known before it was started. */
  readonly #trees: readonly HostTree[];
  /** Where it had its order before it was started. */
  readonly #begun: Promise<Begun> | null;
  readonly #isDocker: boolean;
  /** Where it can be seen from here, and was asked for. */
  #first: FirstProcess | null = null;

  constructor({ container, stream, preface, status, views, trees, begun, isDocker }: StartedContainer) {
    this.#container = container;
    this.#views = views;
    this.#trees = trees;
    this.#begun = begun;
    this.#isDocker = isDocker;
    this.#stream = stream;
    this.#preface = preface;
    // One that cannot be spoken to any more has no use left, unless its project is still to be looked at.
    stream.once("close", () => {
      if (this.#stateDir === null) void this.#end();
    });
    this.ended = this.#awaitEnd(status);
    this.ended.catch(() => {});
    // Known in time, so that nothing has to be asked when it ends.
    this.#inspected = container.inspect().then(
      (state) => {
        this.#first = FirstProcess.find(state?.pid ?? 0, container.id);
      },
      () => {},
    );
  }

  /** Once: what it is to show and to be. It is gone where this rejects. */
  async boot(engine: Engine, boot: BootSpec, { signal, onStream }: BootOptions): Promise<BootedSandbox> {
    const giveUp = () => this.#stream.destroy();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", giveUp, { once: true });
      const { layers } = await (this.#begun ?? this.#order(engine, boot, { signal, onStream }));
      await this.#inspected;
      return this.#booted([...engine.layersOf(boot), ...layers]);
    } catch (error) {
      await this.kill().catch(() => {});
      throw signal?.aborted ? signal.reason : explained(error, this.#stream);
    } finally {
      for (const tree of this.#trees) tree.abandon();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async #order(engine: Engine, boot: BootSpec, { signal, onStream }: BootOptions): Promise<Begun> {
    const { copied: views, live } = this.#views;
    const stateDir = await this.#begin(engine, boot, views);
    const isSearched = live.length > 0 && !hasLive(this.#views);
    this.#held = live.length === 0 || isSearched ? null : await HeldFolders.start(live, boot, engine.folder);
    await this.#held?.untilEnd(this.#container);
    const found = isSearched ? await HeldFolders.search(live, boot, engine.folder) : this.#held?.found;
    const begun = await giveOrder(this.#preface, {
      order: entryOrder(boot, { views, live, isKept: false }),
      views,
      hide: boot.policy.fs.deny,
      trees: this.#trees,
      found,
      onDelivered: () => onStream?.(this.#stream),
      onStarted: () => this.#stream.endPreface(),
      signal,
    });
    if (stateDir !== null && begun.listing !== null) await writeListing(stateDir, begun.listing);
    return begun;
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
      removed: this.removed,
      ending: this.#ending.promise,
      finish: () => this.finish(),
      kill: () => this.kill(),
    };
  }

  /** Settles when the engine has removed it, which may be after its end. */
  get removed(): Promise<void> {
    return this.#removed.promise;
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
    const stream = await this.#container.execEntry(["gather"], "0:0").catch(gone);
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
    this.#announced.resolve();
    // An engine that does not answer is heard of by whoever waits for the end.
    await this.#container.kill().catch(() => {});
    this.#stream.destroy();
  }

  /** Its guest ends when its stream does, which is sooner than an engine has made somebody kill it. */
  async #leave(): Promise<void> {
    this.#look();
    this.#stream.destroy();
    this.#announced.resolve();
    const impatience = setTimeout(() => void this.#container.kill().catch(() => {}), LEAVE_MS);
    await this.ended.catch(() => {});
    clearTimeout(impatience);
  }

  /** At once: its stream may be closed in the same turn, and then nothing is left to look at. */
  #look(): void {
    this.#used = this.#first?.usage ?? nothingKnown;
    this.#ending.resolve(this.#used);
  }

  async #awaitEnd(status: Promise<number | null>): Promise<SandboxEnd> {
    const end = await this.#over(status).catch((error: unknown) => {
      this.#abandon();
      throw new AgentKernelError("sandbox_died", "the engine that ran the sandbox is gone", { cause: error });
    });
    this.#stream.destroy();
    const removed = this.#container.remove();
    removed.then(this.#removed.resolve, () => this.#abandon());
    // Nothing of it runs any more, and Docker itself removes it, also after a restart: nobody has to wait until it has.
    // For Podman somebody else does, who can be killed.
    if (!this.#isDocker) await removed;
    const { oomKills, pidsDenied, memoryPeakBytes, cpuUs } = this.#used;
    if (this.#stateDir !== null) await removeProject(this.#stateDir);
    await this.#held?.ended;
    return { ...end, oomKills, pidsDenied, memoryPeakBytes, cpuUs, carried: this.#carried };
  }

  /** By the engine's word or, once it was told to end, by the kernel's, which comes sooner. */
  async #over(status: Promise<number | null>): Promise<SandboxEnd> {
    const heard = new AbortController();
    const engines = status.then(endOf).finally(() => heard.abort());
    const kernels = this.#announced.promise.then(async () => {
      // Podman would be asked to remove what it is still at work on.
      if (this.#first === null || !this.#isDocker) return await engines;
      await this.#first.gone(heard.signal);
      // Its status is the engine's to know: it counts as killed, which is what it was told to be.
      return heard.signal.aborted ? await engines : endOf(null);
    });
    return await Promise.race([engines, kernels]);
  }

  /** It is left to whoever sweeps. */
  #abandon(): void {
    abandon(this.#container.id);
    this.#removed.resolve();
  }
}

function gone(cause: unknown): never {
  throw new AgentKernelError("sandbox_died", "the container ended before its changes could be carried over", { cause });
}
