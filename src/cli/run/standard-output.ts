/**
 * A command's output on our own stdout and stderr. A slow reader must hold the command back, and must never hold
 * this process up: a time limit has to fire while a pipe is full.
 */
import type { Buffer } from "node:buffer";
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { isatty } from "node:tty";
import { AgentKernelError } from "../../core/errors.js";
import type { OutputSink } from "../../guest/index.js";

export interface StandardOutput {
  readonly sink: OutputSink;
  /** Everything that was taken has been written, or nobody reads it any more. */
  readonly done: Promise<void>;
  /** Stop writing; what is not written yet is lost. */
  abandon(): void;
}

type Write = (chunk: Buffer, done: (error?: Error | null) => void) => void;

/** `onClosed` is called once when nothing more can be written: the reader has gone, or for the reason that is given. */
export function standardOutput(fd: 1 | 2, onClosed: (why: AgentKernelError | null) => void): StandardOutput {
  let finish: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const target = openTarget(fd);
  let isClosed = false;
  const close = (error: NodeJS.ErrnoException) => {
    if (isClosed) return;
    isClosed = true;
    onClosed(error.code === "EPIPE" ? null : unwritable(fd, error));
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

function unwritable(fd: 1 | 2, cause: NodeJS.ErrnoException): AgentKernelError {
  const name = fd === 1 ? "standard output" : "standard error";
  const hint = `look where ${name} leads: a full disk, or a closed file`;
  return new AgentKernelError("internal", `${name} cannot be written (${cause.code})`, { hint, cause });
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
