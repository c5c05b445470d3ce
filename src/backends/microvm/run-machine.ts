/**
 * A machine that serves one owner and dies with it: its monitor is in a jail, which ends with whoever started it. It
 * waits to be woken until then, and is a copy of its template.
 */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, Layer, SandboxEnd } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { within } from "../../core/within.js";
import { entryOrder } from "../entry/order.js";
import type { Preface } from "../entry/preface.js";
import { awaitEntry, giveOrder, sendMessage } from "../entry/talk.js";
import { type CopiedView, copiedViews, liveViews, trackedView } from "../entry/views.js";
import { type JailPrograms, startJail } from "../linux/jail-process.js";
import { MachineStream } from "./machine-stream.js";
import { type MachineStart, monitorJail } from "./monitor-jail.js";
import type { MachineShape } from "./shape.js";
import { SyncedProject } from "./synced-project.js";
import { type WakeParts, wakeMessage } from "./wake.js";

export interface MachineParts {
  readonly programs: JailPrograms;
  readonly vmmBinary: string;
  readonly shape: MachineShape;
  readonly start: MachineStart;
  /** Processor time, as the policy has it. */
  readonly vcpus: number;
  /** Of the user's own, for what is known of synced projects. */
  readonly folder: string;
}

/** Until a machine answers that was woken; one that boots first needs longer. */
const WAKE_MS = 60_000;
const BOOT_MS = 180_000;

export class RunMachine {
  readonly ended: Promise<SandboxEnd>;
  readonly #jail: BootedSandbox;
  readonly #stream: MachineStream;
  /** What speaks before the guest does. */
  readonly #preface: Preface;
  readonly #parts: MachineParts;
  #project: SyncedProject | null = null;
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

  /** Once: whose it is, what it is to show and to be. It is gone where this rejects. */
  async boot(boot: BootSpec, signal?: AbortSignal, onStream?: (stream: Duplex) => void): Promise<BootedSandbox> {
    const giveUp = () => this.#stream.destroy();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener("abort", giveUp, { once: true });
      const views = machineViews(boot);
      const tracked = trackedView(views, false);
      this.#project = tracked === null ? null : await SyncedProject.begin(this.#parts.folder, tracked, boot);
      const order = entryOrder(boot, { views, live: [], isKept: false, hasOwnKeeper: true });
      const isInside = this.#parts.shape.first.waitsInside;
      const here = this.#wake(boot, isInside ? order : null);
      const hide = boot.policy.fs.deny;
      const { layers, listing } = await giveOrder(this.#preface, {
        order: isInside ? null : order,
        views,
        hide,
        here,
        // Where changes are to be told, the guest's part has to be known from its first byte.
        onDelivered: () => (this.#project === null ? onStream?.(this.#stream) : undefined),
        signal,
      });
      this.#project?.begins(this.#stream);
      this.#stream.endPreface();
      await this.#project?.isInPlace(listing);
      return this.#booted(layers);
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
    const isCold = start.does === "boot";
    const messages = [
      ...(isCold ? [Buffer.from(shape.first.text)] : []),
      wakeMessage(boot, { token: this.#project?.token ?? null, rest }),
    ];
    const sent = sendMessage(this.#preface, ...messages);
    const woken = Promise.all([awaitEntry(this.#preface, "waiting"), sent]);
    const ms = isCold ? BOOT_MS : WAKE_MS;
    woken.catch(() => {});
    await within(ms, woken, () => {
      throw new AgentKernelError("sandbox_start_failed", `the machine did not answer within ${ms / 1000} s`, {
        hint: "the host may have no time for it: try again, or look at `agentkernel doctor`",
      });
    });
  }

  #booted(inside: readonly Layer[]): BootedSandbox {
    return {
      stream: this.#stream,
      layers: [...machineLayers(this.#parts.shape), ...this.#jail.layers.map(aroundMonitor), ...inside.filter(isOwn)],
      ended: this.ended,
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

/** What is copied into a machine; nothing of the host's is ever live in one. */
export function machineViews(boot: BootSpec): readonly CopiedView[] {
  if (liveViews(boot).length > 0) {
    throw new AgentKernelError("unsupported", "a virtual machine cannot show folders of the host's live", {
      hint: "use --workspace copy, and write mounts as host:guest:ro; or use --backend linux",
    });
  }
  return copiedViews(boot);
}

/** Said aloud: who takes emulation for a boundary must not do so because of us. */
function machineLayers({ monitor: { kind, accelerator } }: MachineShape): readonly Layer[] {
  if (kind === "firecracker") {
    const detail = "by Firecracker, unverified: what drives it was tested against a double of it only";
    return [{ name: "virtual machine", state: "partial", detail }];
  }
  if (accelerator === "kvm") return [{ name: "virtual machine", state: "applied" }];
  const detail =
    "the machine is emulated in software, which is no security boundary: the jail around the emulator is the wall";
  return [{ name: "virtual machine", state: "partial", detail }];
}

function aroundMonitor({ name, ...rest }: Layer): Layer {
  return { name: `${name} around the machine`, ...rest };
}

/** Ids inside are the machine's own, whatever they are: nobody on the host has them. */
function isOwn({ name }: Layer): boolean {
  return name !== "user namespace";
}

/** A line of what `ak-vmm` says (native/vmm/src/lib.rs). */
const OUT_OF_MEMORY = "ak-vmm: out of memory in the machine";

/** What the machine had: its kernel's own words about memory, and no more than its size, since the rest is its monitor's. */
export function machineEnd(end: SandboxEnd, { memoryMib }: Pick<MachineShape, "memoryMib">): SandboxEnd {
  const { said, memoryPeakBytes, ...rest } = end;
  const lines = said?.split("\n") ?? [];
  const words = lines
    .filter((line) => line !== OUT_OF_MEMORY)
    .join("\n")
    .trim();
  return {
    ...rest,
    oomKills: end.oomKills + lines.filter((line) => line === OUT_OF_MEMORY).length,
    memoryPeakBytes: memoryPeakBytes === null ? null : Math.min(memoryPeakBytes, memoryMib * (1 << 20)),
    ...(words === "" ? {} : { said: words }),
  };
}

/** With what the machine's kernel, or its monitor, said last. */
function explained(error: unknown, said: string | undefined): unknown {
  if (!isAgentKernelError(error) || said === undefined) return error;
  const extras = error.hint === undefined ? { cause: error } : { cause: error, hint: error.hint };
  return new AgentKernelError(error.code, `${error.message}: ${escapeText(said)}`, extras);
}
