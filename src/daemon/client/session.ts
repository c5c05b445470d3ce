/**
 * One command line that a client has handed over, from its first frame to its exit status. The client is a process of
 * the same user, so it is trusted with everything but this process's health: what makes no sense ends its connection.
 */
import { Buffer } from "node:buffer";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { homeDirIn } from "../../core/account.js";
import { AgentKernelError } from "../../core/errors.js";
import type { TerminalSize } from "../../core/exec.js";
import { Departure } from "../../invocation/departure.js";
import type { Invocation } from "../../invocation/index.js";
import type { Resident } from "../../runtime/resident.js";
import type { Commands } from "./commands.js";
import { ClientFrame, encodeFrame, encodeHeader, encodeNumber, type FrameReceiver } from "./frames.js";
import { ClientInput } from "./input.js";
import { ClientOutput } from "./output.js";
import { ClientSignals } from "./signals.js";
import { type ClientStart, parseWindow } from "./start.js";

const { EPIPE } = constants.errno;

export class ClientSession implements FrameReceiver {
  /** Settles when nothing of it goes on any more. Never rejects. */
  readonly over: Promise<void>;
  /** Settles when nobody waits for it any more. Never rejects. */
  readonly answered: Promise<void>;
  /** It waits for its caller most of the time. */
  readonly isStanding: boolean;
  readonly #socket: Duplex;
  readonly #start: ClientStart;
  readonly #signals = new ClientSignals();
  readonly #gone = new Departure();
  readonly #resized = new Set<() => void>();
  readonly #stdin: ClientInput;
  readonly #stdout: ClientOutput;
  readonly #stderr: ClientOutput;
  #window: TerminalSize | null;
  #isAnswered = false;
  #tellAnswered: () => void = () => {};

  /** The client has been told that it is served. */
  constructor(socket: Duplex, start: ClientStart, resident: Resident, commands: Commands) {
    this.#socket = socket;
    this.#start = start;
    this.#window = start.window;
    this.isStanding = commands.isStanding(start.words);
    this.answered = new Promise((resolve) => {
      this.#tellAnswered = resolve;
    });
    const [isTerminal, ...outputs] = start.isTerminal;
    this.#stdin = new ClientInput({
      isTerminal,
      hasInput: start.hasInput,
      grant: (bytes) => this.#send(encodeNumber(ClientFrame.credit, 0, bytes)),
      stop: () => this.#send(encodeFrame(ClientFrame.closed, 0)),
      makeRaw: (isRaw) => this.#send(encodeFrame(ClientFrame.raw, 0, Buffer.from([isRaw ? 1 : 0]))),
    });
    this.#stdout = this.#output(1, outputs[0]);
    this.#stderr = this.#output(2, outputs[1]);
    socket.once("close", () => this.#leave());
    this.over = commands
      .dispatch(start.words, this.#invocation(resident))
      .then((status) => this.#answer(status & 0xff, 0));
  }

  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** As if the client had been sent it. */
  signal(signal: number): void {
    if (!this.#isAnswered && !this.#signals.deliver(signal)) this.#die(signal);
  }

  data(stream: number, piece: Buffer): void {
    if (stream !== 0) throw new RangeError(`a client has no output on stream ${stream}`);
    this.#stdin.take(piece);
  }

  frame(type: number, stream: number, payload: Buffer): void {
    if (type === ClientFrame.eof) this.#stdin.end();
    else if (type === ClientFrame.credit) this.#outputOf(stream).credit(numberOf(payload));
    else if (type === ClientFrame.closed) this.#outputOf(stream).close(numberOf(payload));
    else if (type === ClientFrame.signal) this.signal(numberOf(payload));
    else if (type === ClientFrame.window) this.#resize(parseWindow(payload));
    else throw new RangeError(`a client sends no frames of type ${type}`);
  }

  #invocation(resident: Resident): Invocation {
    const { cwd, env, words } = this.#start;
    // As early as can be: it goes on beside all that is to be done here first.
    const prescan = words[0] === "run" && cwd !== null ? resident.pool.prescan(cwd) : null;
    return {
      get cwd() {
        if (cwd !== null) return cwd;
        throw new AgentKernelError("invalid_argument", "the current folder does not exist any more", {
          hint: "change to a folder that exists: it is the project that the sandbox shows",
        });
      },
      env,
      get homeDir() {
        return homeDirIn(env);
      },
      stdin: this.#stdin,
      stdout: this.#stdout,
      stderr: this.#stderr,
      signals: this.#signals,
      resident,
      prescan,
      gone: this.#gone,
      release: (status) => this.#answer(status & 0xff, 0),
      ifLost: ({ screen, words }) => {
        if (screen !== undefined) this.#send(encodeFrame(ClientFrame.will, 1, Buffer.from(screen)));
        if (words !== undefined) this.#send(encodeFrame(ClientFrame.will, 2, Buffer.from(words)));
      },
      dieBy: (signal) => this.#die(signal),
    };
  }

  #output(stream: 1 | 2, isTerminal: boolean): ClientOutput {
    return new ClientOutput({
      stream,
      isTerminal,
      size: () => this.#window,
      onResize: (listener) => {
        this.#resized.add(listener);
        return () => this.#resized.delete(listener);
      },
      send: (_, bytes, sent) => this.#sendData(stream, bytes, sent),
    });
  }

  #outputOf(stream: number): ClientOutput {
    if (stream === 1) return this.#stdout;
    if (stream === 2) return this.#stderr;
    throw new RangeError(`there is no output stream ${stream}`);
  }

  #resize(window: TerminalSize | null): void {
    this.#window = window;
    for (const listener of [...this.#resized]) listener();
  }

  #send(frame: Buffer): void {
    if (!this.#isAnswered && this.#socket.writable) this.#socket.write(frame);
  }

  /** The bytes are not copied: they belong to the socket until it has written them. */
  #sendData(stream: 1 | 2, bytes: Buffer, sent: () => void): void {
    if (this.#isAnswered || !this.#socket.writable) {
      sent();
      return;
    }
    this.#socket.cork();
    this.#socket.write(encodeHeader(ClientFrame.data, stream, bytes.length));
    this.#socket.write(bytes, () => sent());
    this.#socket.uncork();
  }

  #answer(status: number, signal: number): void {
    if (this.#isAnswered) return;
    this.#send(encodeFrame(ClientFrame.exit, 0, Buffer.from([status, signal])));
    this.#isAnswered = true;
    this.#tellAnswered();
    this.#socket.end();
  }

  /** To the client this is over; what still goes on here is told to end. */
  #die(signal: number): void {
    this.#answer(0, signal);
    this.#lose();
  }

  #lose(): void {
    this.#isAnswered = true;
    this.#tellAnswered();
    this.#stdout.close(EPIPE);
    this.#stderr.close(EPIPE);
    this.#gone.happen();
  }

  /** A client that has its answer leaves as it should: nothing that still goes on is to end for that. */
  #leave(): void {
    if (!this.#isAnswered) {
      this.#lose();
      return;
    }
    this.#stdout.close(EPIPE);
    this.#stderr.close(EPIPE);
  }
}

function numberOf(payload: Buffer): number {
  if (payload.length !== 4) throw new RangeError("a number is four bytes");
  return payload.readUInt32LE(0);
}
