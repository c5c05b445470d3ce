/**
 * Jails started by a small process of ours (`ak-jail launch`). Forking takes time for every page that a process has, and
 * this one has many: some milliseconds in which nothing else happens here. Which connection is whose is known by their
 * order, which is that of the answers; only this user can connect.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Deferred, deferred } from "../../core/deferred.js";
import { adoptStream } from "../../guest/index.js";
import { type Exit, exitOf, type JailStarter, type StartedJail, startFailure } from "./jail-start.js";

export interface LauncherPlace {
  /** Of this user alone. */
  readonly folder: string;
  /** The same folder, by a path short enough for a socket's address. */
  readonly shortPath: string;
}

/** Of this process alone: another one may already use the folder while this one still works off what it began. */
const SOCKET_NAME = `jails.sock.${process.pid}`;

type Answer = { readonly kind: "started"; readonly pid: number } | { readonly kind: "failed"; readonly reason: string };

interface Waiting {
  take(jail: StartedJail): void;
  fail(error: Error): void;
}

interface Watched {
  readonly exited: Deferred<Exit>;
  isClosed: boolean;
}

export class JailLauncher implements JailStarter {
  readonly #child: ChildProcess;
  readonly #server: Server;
  readonly #connections: Socket[] = [];
  readonly #answers: (Answer & { readonly connections: number })[] = [];
  readonly #waiting: Waiting[] = [];
  /** Jails that have not ended, as far as is known here. Nothing else here may hold on to one. */
  readonly #jails = new Map<number, Watched>();
  #isGone = false;

  private constructor(child: ChildProcess, server: Server) {
    this.#child = child;
    this.#server = server;
    server.on("connection", (socket) => {
      this.#connections.push(socket);
      this.#match();
    });
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
    });
    // Its end tells.
    child.stdin?.on("error", () => {});
    void exitOf(child).then(() => this.#lose());
  }

  static async open(jailBinary: string, { folder, shortPath }: LauncherPlace): Promise<JailLauncher> {
    // Paused: whoever adopts the connection reads it from its first byte.
    const server = createServer({ pauseOnConnect: true });
    rmSync(join(folder, SOCKET_NAME), { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(join(shortPath, SOCKET_NAME), () => resolve());
    });
    // By its folder, since the launcher's path to it must be short too.
    const child = spawn(jailBinary, ["launch", SOCKET_NAME], {
      cwd: folder,
      detached: true,
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
    });
    return new JailLauncher(child, server);
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
      this.#waiting.push({ take, fail });
      this.#child.stdin?.write("start\n");
    });
  }

  close(): void {
    this.#child.stdin?.end();
    this.#server.close();
  }

  #read(line: string): void {
    const [word, first = "", ...rest] = line.split(" ");
    if (word === "exited") {
      const exit = { code: number(rest[0]), signal: number(rest[1])?.toString() ?? null };
      this.#jails.get(Number(first))?.exited.resolve(exit);
      this.#jails.delete(Number(first));
      return;
    }
    if (word === "started") this.#answers.push({ kind: "started", pid: Number(first), connections: 2 });
    else this.#answers.push({ kind: "failed", reason: rest.join(" "), connections: Number(first) });
    this.#match();
  }

  /** An answer and its connections come on different ways, each in order. */
  #match(): void {
    for (let answer = this.#answers[0]; answer !== undefined; answer = this.#answers[0]) {
      if (this.#connections.length < answer.connections) return;
      this.#answers.shift();
      const [control, stream, ...others] = this.#connections.splice(0, answer.connections);
      const waiting = this.#waiting.shift();
      if (answer.kind === "started" && control !== undefined && stream !== undefined) {
        waiting?.take(this.#started(answer.pid, control, stream));
      } else {
        for (const socket of [control, stream, ...others]) socket?.destroy();
        const reason = answer.kind === "failed" ? answer.reason : "its streams are missing";
        waiting?.fail(startFailure(reason, /too many open|temporarily unavailable|cannot allocate/i.test(reason)));
      }
    }
  }

  #started(pid: number, control: Socket, stream: Socket): StartedJail {
    const jail: Watched = { exited: deferred<Exit>(), isClosed: false };
    this.#jails.set(pid, jail);
    control.once("close", () => {
      jail.isClosed = true;
      if (this.#isGone) this.#endUntold();
    });
    return {
      pid,
      control,
      stream: adoptStream(stream),
      exited: jail.exited.promise,
      kill: () => {
        // After its end the number may be another's.
        if (this.#jails.get(pid) === jail) process.kill(pid, "SIGKILL");
      },
    };
  }

  #lose(): void {
    this.#isGone = true;
    this.#server.close();
    // A jail that was started and never told of has its streams here, and ends with them.
    for (const socket of this.#connections.splice(0)) socket.destroy();
    for (const { fail } of this.#waiting.splice(0)) fail(startFailure("the launcher was killed", false));
    this.#endUntold();
  }

  /** Without a launcher to tell, the end of its control stream is the end of the jail, however it came about. */
  #endUntold(): void {
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
