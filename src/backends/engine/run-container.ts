/**
 * A container that serves one owner and dies with it: its guest ends when its stream does, and the engine removes what
 * has ended. What an owner that was killed leaves between two steps is swept (sweep.ts).
 */
import type { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, Layer, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { Container } from "./container.js";
import { containerSpec } from "./container-spec.js";
import type { Engine } from "./engine.js";
import { entryOrder } from "./entry-order.js";
import { awaitEntry, giveOrder } from "./entry-talk.js";
import { endOf } from "./kept/end.js";
import { ownedLabels } from "./labels.js";
import type { MuxedStream } from "./muxed-stream.js";
import { nothingKnown, usageOf } from "./usage.js";
import { copiedViews } from "./views.js";

export class RunContainer {
  readonly #container: Container;
  readonly #stream: MuxedStream;
  readonly #ending = deferred<UsedSoFar>();
  #used: UsedSoFar = nothingKnown;
  readonly ended: Promise<SandboxEnd>;
  #asked: Promise<void> | null = null;
  /** Of its first process, on the engine's machine; 0 until it is known. */
  #pid = 0;

  private constructor(container: Container, stream: MuxedStream, status: Promise<number | null>) {
    this.#container = container;
    this.#stream = stream;
    stream.on("error", () => {});
    // One that cannot be spoken to any more has no use left.
    stream.once("close", () => void this.#end());
    this.ended = this.#awaitEnd(status);
    this.ended.catch(() => {});
    // Known in time, so that nothing has to be asked when it ends.
    container.inspect().then(
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
    const labels = ownedLabels(kind, boot.id);
    const files = await engine.sharedFiles();
    const spec = containerSpec({
      boot,
      views,
      labels,
      programs,
      files,
      isKept: false,
      maxProcesses: engine.maxProcesses,
    });
    const container = await Container.create(client, `agentkernel-${boot.hostname}`, spec);
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
        return new RunContainer(container, opened, status);
      } finally {
        signal?.removeEventListener("abort", giveUp);
      }
    } catch (error) {
      stream?.destroy();
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
      const order = entryOrder(boot, views, false);
      const layers = await giveOrder(this.#stream, { order, views, hide: boot.policy.fs.deny, signal });
      return this.#booted([...engine.layersOf(boot), ...layers]);
    } catch (error) {
      await this.kill().catch(() => {});
      throw signal?.aborted ? signal.reason : explained(error, this.#stream);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #booted(layers: readonly Layer[]): BootedSandbox {
    return {
      stream: this.#stream as Duplex,
      layers,
      ended: this.ended,
      ending: this.#ending.promise,
      finish: () => this.kill(),
      kill: () => this.kill(),
    };
  }

  /** Idempotent. */
  async kill(): Promise<SandboxEnd> {
    await this.#end();
    return await this.ended;
  }

  #end(): Promise<void> {
    this.#asked ??= this.#kill();
    return this.#asked;
  }

  async #kill(): Promise<void> {
    // At once: its stream may be closed in the same turn, and then nothing is left to look at.
    this.#used = this.#pid === 0 ? nothingKnown : usageOf(this.#pid, this.#container.id);
    this.#ending.resolve(this.#used);
    // An engine that does not answer is heard of by whoever waits for the end.
    await this.#container.kill().catch(() => {});
    this.#stream.destroy();
  }

  async #awaitEnd(status: Promise<number | null>): Promise<SandboxEnd> {
    const code = await status.catch((error: unknown) => {
      throw new AgentKernelError("sandbox_died", "the engine that ran the sandbox is gone", { cause: error });
    });
    this.#stream.destroy();
    await this.#container.remove();
    const { oomKills, pidsDenied, memoryPeakBytes, cpuUs } = this.#used;
    return { ...endOf(code), oomKills, pidsDenied, memoryPeakBytes, cpuUs };
  }
}

/** With what the container's first program, or what started it, said last. */
export function explained(error: unknown, stream: MuxedStream | null): unknown {
  if (!(error instanceof AgentKernelError) || stream === null || stream.words === "") return error;
  return new AgentKernelError(error.code, `${error.message}: ${escapeText(stream.words)}`, { cause: error });
}
