/**
 * A container of Apple's program that serves one owner and dies with it: its guest ends when its standard input does,
 * and `--rm` removes what has ended. What an owner that was killed leaves between two steps is swept (owners.ts).
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Duplex } from "node:stream";
import type { BootedSandbox, BootSpec, SandboxEnd } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { endOf } from "../engine/persistent/end.js";
import { entryOrder } from "../entry/order.js";
import { awaitEntry, giveOrder } from "../entry/talk.js";
import { copiedViews } from "../entry/views.js";
import { networksOf } from "./answers.js";
import { CliRefusal, type ContainerCli, lastWords } from "./cli.js";
import { appleLayers, containerName, containerWords } from "./container-words.js";
import { ownLabels, removeSandbox } from "./owners.js";

const MAX_WORDS_CHARS = 4000;

/** Nothing of it is left where this rejects. */
export async function bootContainer(
  cli: ContainerCli,
  { guestFolder, folder }: { readonly guestFolder: string; readonly folder: string },
  boot: BootSpec,
  signal?: AbortSignal,
): Promise<BootedSandbox> {
  signal?.throwIfAborted();
  refuseLive(boot);
  const views = copiedViews(boot);
  const container = new RunContainer(
    cli,
    boot.id,
    containerWords({ boot, views, labels: ownLabels(boot.id, folder), guestFolder }),
  );
  const { stream } = container;
  const giveUp = () => stream.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await awaitEntry(stream);
    // Nothing untrusted has run yet.
    await insistOnNoNetwork(cli, containerName(boot), signal);
    const order = entryOrder(boot, { views, live: [], isKept: false });
    const { layers } = await giveOrder(stream, { order, views, hide: boot.policy.fs.deny, signal });
    const kill = () => container.kill();
    return { stream, layers: [...appleLayers(boot), ...layers], ended: container.ended, finish: kill, kill };
  } catch (error) {
    await container.kill();
    throw signal?.aborted ? signal.reason : container.explained(error);
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

/** Only the copied can be without what is hidden: nothing here can leave anything out of a mount. */
function refuseLive({ policy: { fs } }: BootSpec): void {
  const writable = fs.mounts.find(({ readonly }) => !readonly);
  if (fs.workspace.mode !== "mount" && writable === undefined) return;
  const what = fs.workspace.mode === "mount" ? "the workspace mount" : `a writable mount at ${writable?.guest}`;
  throw new AgentKernelError("unsupported", `${what} is not possible on this backend`, {
    hint: (wording) => `use ${wording.with("fs.workspace.mode", "copy")}, and make mounts read-only`,
  });
}

/** A version that took `none` for something else would let everything out past the gateway. */
async function insistOnNoNetwork(cli: ContainerCli, name: string, signal?: AbortSignal): Promise<void> {
  const networks = networksOf(await cli.json(["inspect", name], { signal }));
  if (networks === 0) return;
  const found = networks === null ? "does not say which networks it has" : "is attached to a network";
  throw new AgentKernelError("layer_unavailable", `a container without a network was asked for, and it ${found}`, {
    hint: "update Apple's container to 1.0 or later, or use the backend docker",
  });
}

class RunContainer {
  readonly stream: Duplex;
  /** Settles when nothing of it is left. */
  readonly ended: Promise<SandboxEnd>;
  readonly #child: ChildProcessWithoutNullStreams;
  #words = "";

  constructor(cli: ContainerCli, sandbox: string, words: readonly string[]) {
    // In a session of its own: what is typed at our terminal is for the command inside, and comes over the stream.
    this.#child = spawn(cli.program, [...words], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.stream = Duplex.from({ readable: this.#child.stdout, writable: this.#child.stdin });
    // Who reads or writes is told by its end.
    this.stream.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (part: string) => {
      this.#words = (this.#words + part).slice(-MAX_WORDS_CHARS);
    });
    this.ended = this.#awaitEnd(cli, sandbox);
    this.ended.catch(() => {});
    // One that cannot be spoken to any more has no use left.
    this.stream.once("close", () => this.#child.kill("SIGKILL"));
  }

  /** Idempotent. */
  async kill(): Promise<SandboxEnd> {
    this.stream.destroy();
    this.#child.kill("SIGKILL");
    return await this.ended;
  }

  /** With what Apple's program, or the container's first one, said last. */
  explained(error: unknown): unknown {
    if (error instanceof CliRefusal) return new AgentKernelError("sandbox_start_failed", error.words, { cause: error });
    const words = lastWords(this.#words);
    if (!(error instanceof AgentKernelError) || words === "") return error;
    const extras = error.hint === undefined ? { cause: error } : { cause: error, hint: error.hint };
    return new AgentKernelError(error.code, `${error.message}: ${words}`, extras);
  }

  async #awaitEnd(cli: ContainerCli, sandbox: string): Promise<SandboxEnd> {
    const code = await new Promise<number | null>((resolve) => {
      this.#child.once("error", (error) => {
        this.#words += error.message;
      });
      this.#child.once("close", resolve);
    });
    this.stream.destroy();
    await removeSandbox(cli, sandbox);
    return endOf(code);
  }
}
