/**
 * src/invocation owns what a verb knows of its caller: directory, environment, standard streams, terminal and signals, as
 * one value. The command line makes it from its own process, the daemon from a client's connection. A verb never looks
 * past it at the process that it runs in, since that may serve many at once.
 */
import type { Buffer } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import type { AgentKernelError } from "../core/errors.js";
import type { TerminalSize } from "../core/exec.js";
import type { Surroundings } from "../core/surroundings.js";
import type { Resident } from "../runtime/resident.js";
import type { Departure } from "./departure.js";

export interface Invocation extends Surroundings {
  readonly stdin: StandardInput;
  readonly stdout: StandardOutput;
  readonly stderr: StandardOutput;
  readonly signals: SignalSource;
  /** Null where there is none. */
  readonly resident: Resident | null;
  /** The look ahead that was made for this caller: see `WarmPool.prescan`. */
  readonly prescan?: number | null;
  /** Happens when the caller has vanished and nobody waits for an end any more; null where that ends this process too. */
  readonly gone: Departure | null;
  /**
   * To the caller this ends now, with this status; what is still to be done cannot change it and has nothing to tell.
   * Null where the caller waits in any case.
   */
  readonly release: ((status: number) => void) | null;
  /** What is done for the caller if this process dies: written to the terminal's screen, and said to the user. */
  ifLost(will: Will): void;
  /** To the caller this ends at once, as if killed by the signal, whatever still goes on. */
  dieBy(signal: number): void;
}

interface Will {
  /** What brings the screen back to how it usually is. */
  readonly screen?: string;
  /** Whole lines. */
  readonly words?: string;
}

export interface StandardInput {
  readonly isTerminal: boolean;
  /** What there is to read, no faster than it is read; null if there is nothing that could be. */
  open(): Readable | null;
  /** Where it is a terminal: what is typed comes as it is, and what is shown goes as it is. Returns how to undo it. */
  makeRaw(): () => void;
}

export interface StandardOutput {
  readonly isTerminal: boolean;
  /** Of the window that it shows; null where it is no terminal. */
  size(): TerminalSize | null;
  /** Returns how to stop listening. */
  onResize(listener: () => void): () => void;
  /** Our own words. Resolves when they are written, to null or to why they are not. */
  write(text: string): Promise<NodeJS.ErrnoException | null>;
  /** Called once when the reader is found to have gone away. */
  onClosed(listener: () => void): void;
  /** For a command's output. `onClosed` is called once when nothing more can be written: see `CommandOutput`. */
  open(onClosed: (why: AgentKernelError | null) => void): CommandOutput;
  /** For output that is made as a stream. */
  stream(): Writable;
}

/**
 * A command's output on one of our streams. A slow reader holds the command back, and never this process. It is closed
 * because the reader has gone (null), or for the reason that is given.
 */
export interface CommandOutput {
  readonly sink: {
    write(chunk: Buffer, taken: () => void): void;
    end(): void;
  };
  /** Everything that was taken has been written, or nobody reads it any more. */
  readonly done: Promise<void>;
  /** Stop writing; what is not written yet is lost. */
  abandon(): void;
}

export const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;
export type EndingSignal = (typeof endingSignals)[number];

/** Signals that mean something to the command alone. */
export const commandSignals = ["SIGUSR1", "SIGUSR2"] as const;
export type CommandSignal = (typeof commandSignals)[number];

export interface SignalSource {
  /** A signal that nobody listens for ends the caller. Returns how to stop listening. */
  onEnding(listener: (name: EndingSignal) => void): () => void;
  /** A signal that nobody listens for has its usual effect on the caller. Returns how to stop listening. */
  onCommandSignal(listener: (name: CommandSignal) => void): () => void;
  /** The caller was stopped (Ctrl-Z), or goes on. Returns how to stop listening. */
  onPause(listener: (isPaused: boolean) => void): () => void;
}
