/**
 * A machine that serves one owner and dies with it: its monitor is in a jail, which ends with whoever started it. It
 * waits to be woken until then, and is a copy of its template.
 */
import type { Socket } from "node:net";
import type { BootedSandbox, BootSpec, Layer, OnStream, SandboxEnd } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { HeartbeatTiming } from "../../core/heartbeat-timing.js";
import { beginLazyView, type LazyView } from "../../guest/index.js";
import { entryOrder } from "../entry/order.js";
import type { Preface } from "../entry/preface.js";
import { giveOrder } from "../entry/talk.js";
import { type CopiedView, copiedViews, liveViews, trackedView } from "../entry/views.js";
import { type JailPrograms, startJail } from "../linux/jail-process.js";
import { waitsInside } from "./first-message.js";
import { explained, machineEnd, machineLayers } from "./machine-report.js";
import { MachineStream } from "./machine-stream.js";
import { type MachineStart, monitorJail } from "./monitor-jail.js";
import type { MachineShape } from "./shape.js";
import { howShown } from "./shown.js";
import { SyncedProject } from "./synced-project.js";
import { type WakeParts, wakeMessage } from "./wake.js";
import { rehearse, unlessStalled, wakeUp } from "./wake-up.js";

interface MachineParts {
  readonly programs: JailPrograms;
  readonly vmmBinary: string;
  readonly shape: MachineShape;
  readonly start: MachineStart;
  /** Processor time, as the policy has it. */
  readonly vcpus: number;
  /** Of the user's own, for what is known of synced projects. */
  readonly folder: string;
  readonly heartbeat: HeartbeatTiming;
}

export class RunMachine {
  readonly ended: Promise<SandboxEnd>;
  readonly #jail: BootedSandbox;
  readonly #stream: MachineStream;
  /** What speaks before the guest does. */
  readonly #preface: Preface;
  readonly #parts: MachineParts;
  #project: SyncedProject | null = null;
  #view: LazyView | null = null;
  #finished: Promise<SandboxEnd> | null = null;

  private constructor(jail: BootedSandbox, stream: MachineStream, parts: MachineParts) {
    this.#jail = jail;
    this.#stream = stream;
    this.#preface = stream.beginPreface();
    this.#parts = parts;
    this.ended = jail.ended.then((end) => machineEnd(end, parts.shape)).finally(() => this.#project?.forget());
    this.ended.catch(() => {});
    stream.on("error", () => {});
    // One that cannot be spoken to any more has no use left, unless its project is still to be looked at.
    stream.once("close", () => {
      if (!stream.isLetGo) void jail.kill().catch(() => {});
    });
  }

  /** Its monitor runs. Nothing of it is left where this rejects. */
  static async start(parts: MachineParts, signal?: AbortSignal): Promise<RunMachine> {
    const { programs, vmmBinary, shape, start, vcpus } = parts;
    const spec = monitorJail({ shape, start, vcpus, vmmBinary, journalDir: programs.journalDir });
    const jail = await startJail(programs, JSON.stringify(spec), signal);
    return new RunMachine(jail, new MachineStream(jail.stream as Socket), parts);
  }

  /** Before it is somebody's, where that makes it faster. It is gone where this rejects. */
  async rehearse(signal?: AbortSignal): Promise<void> {
    const { monitor, first } = this.#parts.shape;
    if (monitor.accelerator !== "tcg" || !waitsInside(first)) return;
    await this.#unlessGivenUp(signal, () => rehearse(this.#preface));
  }

  /** Once: whose it is, what it is to show and to be. It is gone where this rejects. */
  async boot(boot: BootSpec, signal?: AbortSignal, onStream?: OnStream): Promise<BootedSandbox> {
    return await this.#unlessGivenUp(signal, async () => {
      const views = machineViews(boot);
      const tracked = trackedView(views, false);
      this.#project = tracked === null ? null : await SyncedProject.begin(this.#parts.folder, tracked, boot);
      const isInside = waitsInside(this.#parts.shape.first);
      const shown = howShown(views, this.#parts.shape, { isInside, tracked });
      const hide = boot.policy.fs.deny;
      if (shown.lazy !== null) this.#showLazily(beginLazyView(shown.lazy.source, hide));
      const order = entryOrder(boot, { views: shown.copied, live: [], isKept: false, hasOwnKeeper: true });
      const here = this.#wake(boot, isInside ? { ...order, lazy: shown.lazy?.target ?? null } : null);
      const begun = giveOrder(this.#preface, {
        order: isInside ? null : order,
        views: shown.copied,
        hide,
        here,
        // Where changes are to be told, the guest's part has to be known from its first byte.
        onDelivered: () => (this.#project === null ? onStream?.(this.#stream, this.#view?.serve) : undefined),
        signal,
      });
      begun.catch(() => {});
      const { layers, listing } = await unlessStalled(this.#stream, begun);
      this.#project?.begins(this.#stream);
      this.#stream.endPreface();
      await this.#project?.isInPlace(listing);
      const inside = [...layers, ...shown.layers];
      return this.#booted(machineLayers(this.#parts.shape, boot.policy.resources, this.#jail.layers, inside));
    });
  }

  async #unlessGivenUp<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const giveUp = () => this.#stream.destroy();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", giveUp, { once: true });
      return await work();
    } catch (error) {
      const { said } = await this.kill().catch(() => ({ said: undefined }));
      throw signal?.aborted ? signal.reason : explained(error, said);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Settles when it has heard whose it is. */
  async #wake(boot: BootSpec, rest: WakeParts["rest"]): Promise<void> {
    const { start, shape } = this.#parts;
    const message = wakeMessage(boot, { token: this.#project?.token ?? null, rest });
    await wakeUp(this.#preface, message, { start, shape });
  }

  /** It is searched while the machine wakes. What cannot be shown without its secrets is not shown: the machine ends. */
  #showLazily(view: LazyView): void {
    this.#view = view;
    this.ended.finally(() => view.end()).catch(() => {});
    view.failed.catch((error: Error) => this.#stream.destroy(error));
  }

  #booted(layers: readonly Layer[]): BootedSandbox {
    return {
      stream: this.#stream,
      layers,
      ...(this.#view === null ? {} : { serveView: this.#view.serve }),
      ended: this.ended,
      heartbeat: this.#parts.heartbeat,
      ...(this.#jail.ending === undefined ? {} : { ending: this.#jail.ending }),
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
    const project = this.#project;
    if (project === null) {
      await this.#jail.finish();
      return await this.ended;
    }
    try {
      const changes = await project.carry(this.#stream);
      await this.#jail.finish();
      const end = await this.ended;
      return { ...end, oomKills: Math.max(end.oomKills, changes.oomKills), carried: changes.carried };
    } catch (error) {
      const { said } = await this.#jail.kill().catch(() => ({ said: undefined }));
      throw explained(error, said);
    }
  }

  async kill(): Promise<SandboxEnd> {
    if (this.#finished !== null) return await this.#finished;
    const end = this.#jail.kill();
    this.#stream.destroy();
    await end;
    return await this.ended;
  }
}

/** Lists what is copied into a virtual machine; nothing of the host's is ever live in one. */
export function machineViews(boot: BootSpec): readonly CopiedView[] {
  if (liveViews(boot).length > 0) {
    throw new AgentKernelError("unsupported", "a virtual machine cannot show folders of the host's live", {
      hint: (wording) =>
        `use ${wording.with("fs.workspace.mode", "copy")}, and make mounts read-only; or use ${wording.with("backend", "linux")}`,
    });
  }
  return copiedViews(boot);
}
