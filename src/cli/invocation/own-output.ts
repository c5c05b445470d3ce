/**
 * This process's own stdout and stderr. A slow reader must hold a command back, and must never hold this process up: a
 * time limit has to fire while a pipe is full.
 */
import type { Buffer } from "node:buffer";
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { isatty } from "node:tty";
import type { AgentKernelError } from "../../core/errors.js";
import type { TerminalSize } from "../../core/exec.js";
import type { CommandOutput, StandardOutput } from "../../invocation/index.js";
import { unwritable } from "../../invocation/unwritable.js";

export class OwnOutput implements StandardOutput {
  readonly #fd: 1 | 2;

  constructor(fd: 1 | 2) {
    this.#fd = fd;
  }

  get isTerminal(): boolean {
    return isatty(this.#fd);
  }

  size(): TerminalSize | null {
    const { columns, rows } = this.#stream();
    return columns === undefined || rows === undefined ? null : { cols: columns, rows };
  }

  onResize(listener: () => void): () => void {
    const stream = this.#stream();
    stream.on("resize", listener);
    return () => stream.off("resize", listener);
  }

  /** Node tells a failed write to the callback and also as an event, which without a listener ends the process. */
  write(text: string): Promise<NodeJS.ErrnoException | null> {
    const stream = this.#stream();
    return new Promise((resolve) => {
      const listen = (error: Error) => resolve(error);
      stream.once("error", listen);
      stream.write(text, (error) => {
        if (error) {
          resolve(error);
          return;
        }
        stream.off("error", listen);
        resolve(null);
      });
    });
  }

  onClosed(listener: () => void): void {
    this.#stream().once("close", listener);
  }

  open(onClosed: (why: AgentKernelError | null) => void): CommandOutput {
    return openCommandOutput(this.#fd, onClosed);
  }

  stream(): Writable {
    return this.#stream();
  }

  /** Made by Node when it is first asked for, which costs time; so it is asked for only where it is needed. */
  #stream(): NodeJS.WriteStream {
    return this.#fd === 1 ? process.stdout : process.stderr;
  }
}

type Write = (chunk: Buffer, done: (error?: Error | null) => void) => void;

function openCommandOutput(fd: 1 | 2, onClosed: (why: AgentKernelError | null) => void): CommandOutput {
  let finish: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const target = openTarget(fd);
  let isClosed = false;
  const close = (error: NodeJS.ErrnoException) => {
    if (isClosed) return;
    isClosed = true;
    onClosed(error.code === "EPIPE" ? null : unwritable(fd, error.code, error));
  };
  target.socket?.on("error", close);
  return {
    done,
    sink: {
      write(chunk, taken) {
        if (isClosed) return taken();
        target.write(chunk, (error) => {
          if (error) close(error);
          taken();
        });
      },
      end: () => finish(),
    },
    abandon() {
      isClosed = true;
      target.socket?.destroy();
      finish();
    },
  };
}

interface Target {
  readonly write: Write;
  readonly socket: Socket | null;
}

function openTarget(fd: 1 | 2): Target {
  const stat = fstatSync(fd);
  if (stat.isFIFO()) {
    const own = reopened(fd);
    if (own !== null) {
      const socket = new Socket({ fd: own, readable: false, writable: true });
      return { socket, write: (chunk, done) => void socket.write(chunk, done) };
    }
  }
  if (stat.isFile() || (stat.isCharacterDevice() && !isatty(fd))) return { socket: null, write: writeThrough(fd) };
  const stream = fd === 1 ? process.stdout : process.stderr;
  return { socket: null, write: (chunk, done) => void stream.write(chunk, done) };
}

/**
 * Our own opening of the same pipe. Making the inherited one non-blocking would do so for everyone who shares it,
 * the user's shell among them.
 */
function reopened(fd: number): number | null {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

function writeThrough(fd: number): Write {
  return (chunk, done) => {
    try {
      let at = 0;
      while (at < chunk.length) at += writeSync(fd, chunk, at);
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  };
}
