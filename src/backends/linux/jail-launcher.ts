/**
 * Jails started by a small process of ours (`ak-jail launch`). Forking takes time for every page that a process has, and
 * this one has many: some milliseconds in which nothing else happens here. A jail's two streams are connections to the
 * launcher, made from here, where one that cannot be had is an error, and each says first whose it is: the connections of
 * two jails can never be mistaken for each other.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { type Deferred, deferred } from "../../core/deferred.js";
import { within } from "../../core/within.js";
import { connectStream } from "../../guest/index.js";
import {
  type Exit,
  exitOf,
  isShortage,
  type JailStarter,
  type StartedJail,
  spawnFailure,
  startFailure,
} from "./jail-start.js";
import { NO_MARK } from "./state-mark.js";

interface LauncherPlace {
  /** Of this user alone. */
  readonly folder: string;
  /** The same folder, by a path short enough for a socket's address. */
  readonly shortPath: string;
}

/** Of this process alone: another one may already use the folder while this one still works off what it began. */
const SOCKET_NAME = `jails.sock.${process.pid}`;
const NUMBERS = 0x1_0000_0000;
/** Size of most messages of a jail; a long report takes more. */
const WORDS_BYTES = 2048;
/** Within which the end of a launcher that cut a connection is heard of. */
const DEATH_MS = 1000;

/** A jail that was asked for. */
interface Awaited {
  take(pid: number): void;
  fail(error: Error): void;
}

interface Watched {
  readonly exited: Deferred<Exit>;
  isClosed: boolean;
}

export class JailLauncher implements JailStarter {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #socket: string;
  readonly #listening = deferred<void>();
  readonly #ended: Promise<void>;
  readonly #awaited = new Map<string, Awaited>();
  /** Jails that have not ended, as far as is known here. Nothing else here may hold on to one. */
  readonly #jails = new Map<number, Watched>();
  #count = 0;
  #isGone = false;

  private constructor(child: ChildProcess, { folder, shortPath }: LauncherPlace) {
    this.#child = child;
    this.#folder = folder;
    this.#socket = join(shortPath, SOCKET_NAME);
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
    });
    // Its end tells.
    child.stdin?.on("error", () => {});
    this.#ended = exitOf(child).then(() => this.#lose());
  }

  static async open(jailBinary: string, place: LauncherPlace): Promise<JailLauncher> {
    rmSync(join(place.folder, SOCKET_NAME), { force: true });
    // By its folder, since the launcher's path to it must be short too.
    const child = spawn(jailBinary, ["launch", SOCKET_NAME, NO_MARK], {
      cwd: place.folder,
      detached: true,
      // Its jails have the same: only for finding newuidmap and newgidmap.
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    if (child.pid === undefined) throw await spawnFailure(child);
    const launcher = new JailLauncher(child, place);
    await launcher.#listening.promise;
    return launcher;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  start(): Promise<StartedJail> {
    return new Promise((take, fail) => {
      if (this.#isGone) {
        fail(startFailure("the launcher is gone", false));
        return;
      }
      const number = this.#count.toString(16).padStart(8, "0");
      this.#count = (this.#count + 1) % NUMBERS;
      this.#ask(number, take, fail);
    });
  }

  #ask(number: string, take: (jail: StartedJail) => void, fail: (error: Error) => void): void {
    // Whoever gets them reads them from their first byte.
    const control = connectStream(this.#socket, WORDS_BYTES);
    const stream = connectStream(this.#socket);
    const giveUp = (error: Error) => {
      if (!this.#awaited.delete(number)) return;
      control.destroy();
      stream.destroy();
      fail(error);
    };
    let isLost = false;
    const lost = (cause?: NodeJS.ErrnoException) => {
      isLost = true;
      const failure = startFailure(cause?.message ?? "the launcher hung up", isShortage(cause?.code), cause);
      if (isShortage(cause?.code)) giveUp(failure);
      // A death cuts connections before it is told, and whoever hears of this asks whether it was one.
      else void within(DEATH_MS, this.#ended, () => {}).then(() => giveUp(failure));
    };
    const awaited: Awaited = {
      take: (pid) => {
        if (isLost) return;
        for (const socket of [control, stream]) socket.off("error", lost).off("close", lost);
        if (this.#awaited.delete(number)) take(this.#started(pid, control, stream));
      },
      fail: giveUp,
    };
    this.#awaited.set(number, awaited);
    control.on("error", lost).on("close", lost).write(`c${number}`);
    stream.on("error", lost).on("close", lost).write(`g${number}`);
  }

  close(): void {
    this.#child.stdin?.end();
  }

  #read(line: string): void {
    const [word, first = "", ...rest] = line.split(" ");
    if (word === "listening") this.#listening.resolve();
    else if (word === "started") this.#awaited.get(first)?.take(Number(rest[0]));
    else if (word === "failed") this.#awaited.get(first)?.fail(refusal(rest.join(" ")));
    else if (word === "exited") {
      const exit = { code: number(rest[0]), signal: number(rest[1])?.toString() ?? null };
      this.#jails.get(Number(first))?.exited.resolve(exit);
      this.#jails.delete(Number(first));
    }
  }

  #started(pid: number, control: Socket, stream: Socket): StartedJail {
    const jail: Watched = { exited: deferred<Exit>(), isClosed: false };
    this.#jails.set(pid, jail);
    control.once("close", () => {
      jail.isClosed = true;
      if (this.#isGone) this.#endUnannounced();
    });
    return {
      pid,
      control,
      stream,
      exited: jail.exited.promise,
      kill: () => {
        // After its end the number may be another's.
        if (this.#jails.get(pid) === jail) process.kill(pid, "SIGKILL");
      },
    };
  }

  #lose(): void {
    this.#isGone = true;
    rmSync(join(this.#folder, SOCKET_NAME), { force: true });
    this.#listening.reject(startFailure("the launcher ended at once", false));
    // A jail that was started and never told of has its streams here, and ends with them.
    for (const { fail } of [...this.#awaited.values()]) fail(startFailure("the launcher was killed", false));
    this.#endUnannounced();
  }

  /** Without a launcher to tell, the end of its control stream is the end of the jail, however it came about. */
  #endUnannounced(): void {
    for (const [pid, { exited, isClosed }] of this.#jails) {
      if (!isClosed) continue;
      this.#jails.delete(pid);
      exited.resolve({ code: null, signal: "unknown" });
    }
  }
}

function number(text: string | undefined): number | null {
  return text === undefined || text === "-" ? null : Number(text);
}

function refusal(reason: string): Error {
  return startFailure(reason, /no file descriptors|too many open|temporarily unavailable|out of memory/i.test(reason));
}
