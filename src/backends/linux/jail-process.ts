/** One running jail: the process outside the walls that owns a sandbox, and what it tells us. */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import type { BootedSandbox, Layer, SandboxEnd, UsedSoFar } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { AgentKernelError } from "../../core/errors.js";
import { readerOf } from "../../guest/index.js";
import { type JailEvent, parseJailEvent } from "./jail-events.js";
import type { JailPaths } from "./jail-spec.js";
import { exitOf, type JailStarter, type StartedJail, spawnJail } from "./jail-start.js";
import { limitCounters } from "./limit-counters.js";

export interface JailPrograms extends JailPaths {
  readonly jailBinary: string;
  /** The program that lists changes of persistent sandboxes; by default this build's. */
  readonly changesBinary?: string;
  /** Starts jails for a process that is too large to fork often; without it each is forked from here. */
  readonly starter?: JailStarter;
}

/** How long a start that was called off may take to end by itself. */
const ABORT_GRACE_MS = 1000;
/** A carried-over report of a few thousand paths is far below this. */
const MAX_LINE_CHARS = 16 << 20;

export async function startJail(
  programs: JailPrograms,
  specText: string,
  signal?: AbortSignal,
  onStream?: (stream: Socket) => void,
): Promise<BootedSandbox> {
  signal?.throwIfAborted();
  const child = await (programs.starter ? programs.starter.start() : spawnJail(programs.jailBinary));
  const jail = new Jail(child, programs);
  return await bootIn(jail, specText, signal, onStream);
}

/** Gives the spec to a jail that waits for one. */
export async function bootIn(
  jail: Jail,
  specText: string,
  signal?: AbortSignal,
  onStream?: (stream: Socket) => void,
): Promise<BootedSandbox> {
  jail.build(specText);
  // The guest gets the stream when everything is in place; what is written now lies there.
  onStream?.(jail.stream);
  let impatience: NodeJS.Timeout | undefined;
  const kill = () => {
    void jail.kill().catch(() => {});
    // It may be searching a large or a dead folder and not listen. The sandbox dies with it; the rest is swept.
    impatience = setTimeout(() => jail.killProcess(), ABORT_GRACE_MS);
  };
  if (signal?.aborted) kill();
  signal?.addEventListener("abort", kill, { once: true });
  try {
    const { pid, layers } = await jail.started;
    const limitsHit = limitCounters(pid);
    return {
      stream: jail.stream,
      layers,
      ...(limitsHit === null ? {} : { limitsHit }),
      ended: jail.ended,
      ending: jail.ending,
      finish: () => jail.finish(),
      kill: () => jail.kill(),
    };
  } catch (error) {
    jail.stream.destroy();
    await jail.gone;
    throw signal?.aborted ? signal.reason : error;
  } finally {
    clearTimeout(impatience);
    signal?.removeEventListener("abort", kill);
  }
}

/** The sandbox stands, and this is its first process. */
interface Started {
  readonly pid: number;
  readonly layers: readonly Layer[];
}

export class Jail {
  readonly stream: Socket;
  /** Built, where it was asked to be built ahead. */
  readonly warm: Promise<void>;
  readonly started: Promise<Started>;
  readonly ended: Promise<SandboxEnd>;
  readonly ending: Promise<UsedSoFar>;
  /** The jail process itself is gone, and what it might have left is swept. */
  readonly gone: Promise<void>;
  readonly #child: StartedJail;
  readonly #control: Socket;
  #asked = false;

  constructor(child: StartedJail, programs: JailPrograms) {
    this.#child = child;
    this.#control = child.control;
    this.stream = child.stream;
    // Writing to a jail that is gone is no news: its end is.
    this.#control.on("error", () => {});
    this.stream.on("error", () => {});
    // A sandbox that cannot be spoken to any more has no use left; whoever asked first has had its way.
    this.stream.once("close", () => void this.kill().catch(() => {}));
    const events = readEvents(this.#control);
    // Its last words may still be on their way when it is gone already.
    this.gone = Promise.all([child.exited, closeOf(this.#control)]).then(async ([how]) => {
      if (how.signal !== null) await sweep(programs, child.pid);
    });
    this.gone.then(
      () => events.lose(),
      (error: unknown) => events.lose(error),
    );
    this.warm = events.warm;
    this.started = events.started;
    this.ended = events.ended;
    this.ending = events.ending;
    this.warm.catch(() => {});
    this.started.catch(() => {});
    this.ended.catch(() => {});
  }

  /** Of the jail's own process, which takes the sandbox with it; without a word. */
  killProcess(): void {
    this.#child.kill();
  }

  build(specText: string): void {
    this.buildFrom(`${specText}\n`);
  }

  /** A whole line. Bytes that are written for many jails need not be encoded for each. */
  buildFrom(line: string | Uint8Array): void {
    if (!this.#control.destroyed) this.#control.write(line);
  }

  order(what: object): void {
    this.build(JSON.stringify(what));
  }

  async finish(): Promise<SandboxEnd> {
    if (!this.#asked) {
      this.#asked = true;
      this.order({ do: "finish" });
    }
    return await this.ended;
  }

  /** Without words: a jail whose orders end kills its sandbox, and one that is gone cannot fail to be told. */
  async kill(): Promise<SandboxEnd> {
    if (!this.#asked) {
      this.#asked = true;
      this.#control.end();
    }
    return await this.ended;
  }
}

interface JailEvents {
  readonly warm: Promise<void>;
  /** Rejects at once when the jail tells of a failure. */
  readonly started: Promise<Started>;
  readonly ending: Promise<UsedSoFar>;
  /** Not rejected by a failure: the jail is still about to let go of what it holds then, so its end tells. */
  readonly ended: Promise<SandboxEnd>;
  failure(): unknown;
  /** Nothing more can come, for this reason: what was not told by now is refused to those who wait for it. */
  lose(reason?: unknown): void;
}

export function readEvents(control: Socket): JailEvents {
  const warm = deferred<void>();
  const started = deferred<Started>();
  const ending = deferred<UsedSoFar>();
  const ended = deferred<SandboxEnd>();
  let failure: unknown;
  let hasStarted = false;
  let hasEnded = false;
  const fail = (error: unknown) => {
    failure ??= error;
    warm.reject(error);
    started.reject(error);
  };
  const take = (event: JailEvent) => {
    if (event.event === "warm") warm.resolve();
    else if (event.event === "started") {
      hasStarted = true;
      started.resolve(event);
    } else if (event.event === "ending") ending.resolve(event.used);
    else if (event.event === "exited") {
      hasEnded = true;
      ended.resolve(event.end);
    } else fail(event.error);
  };
  const lose = (reason?: unknown) => {
    // An error takes a while to make, and nobody would hear of it.
    if (hasStarted && hasEnded) return;
    fail(reason ?? new AgentKernelError("sandbox_died", "the process that owns the sandbox was killed"));
    ended.reject(failure);
  };
  const decoder = new StringDecoder("utf8");
  let text = "";
  readerOf(control).start((chunk) => {
    text += decoder.write(chunk);
    try {
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n")) {
        const line = text.slice(0, at);
        text = text.slice(at + 1);
        take(parseJailEvent(line));
      }
      if (text.length > MAX_LINE_CHARS) throw new AgentKernelError("internal", "the jail said too much at once");
    } catch (error) {
      fail(error);
      control.destroy();
    }
  });
  return {
    warm: warm.promise,
    started: started.promise,
    ending: ending.promise,
    ended: ended.promise,
    failure: () => failure,
    lose,
  };
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
}

/** Removes what killed jails left behind, the one with this process id among them. */
async function sweep(programs: JailPrograms, killed: number | undefined): Promise<void> {
  const sweeper = spawn(programs.jailBinary, ["sweep", programs.journalDir, String(killed)], { stdio: "ignore" });
  await exitOf(sweeper);
}
