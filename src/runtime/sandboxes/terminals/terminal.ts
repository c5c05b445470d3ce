/**
 * One terminal of a kept sandbox: a command that goes on whoever looks. Everybody who looks sees the same and may type;
 * the window is the smallest of theirs. It holds the command back for the fastest of them, and for none that has stopped.
 */
import { Buffer } from "node:buffer";
import type { TerminalSize } from "../../../core/exec.js";
import type { OutputSink } from "../../../guest/index.js";
import type { SandboxExec } from "../execs/sandbox-exec.js";
import type { ExecInfo, TerminalInfo } from "../types.js";
import { isQuestion, type Span, without } from "./questions.js";
import { catchUp, firstLook } from "./redraw.js";
import { ScreenModes } from "./screen-modes.js";
import { Scrollback } from "./scrollback.js";
import { Seat } from "./seat.js";
import type { TerminalEnd, TerminalSeat, TerminalViewer } from "./viewer.js";
import { SharedWindow, smallest } from "./window.js";

const SCROLLBACK_BYTES = 262_144;
/** How long the command waits for viewers of which none takes anything. */
const STALL_MS = 1000;

export class Terminal {
  /** Settles when the command is over and all its output was handed on. Never rejects. */
  readonly over: Promise<ExecInfo>;
  readonly #exec: SandboxExec;
  readonly #scrollback = new Scrollback(SCROLLBACK_BYTES);
  readonly #modes = new ScreenModes();
  readonly #window: SharedWindow;
  /** In the order in which they came. */
  readonly #seats = new Set<Seat>();
  #undo = "";
  #wasWatched: boolean;
  /** Output that the command is not yet told was taken. */
  #unpaced: (() => void)[] = [];
  #stall: NodeJS.Timeout | undefined;
  #end: TerminalEnd | null = null;

  /** `size`: null where an earlier process had set it. */
  constructor(exec: SandboxExec, size: TerminalSize | null) {
    this.#exec = exec;
    this.#wasWatched = size === null;
    this.#window = new SharedWindow(size, (next) => exec.guest.resize(next));
    const shown = new Promise<void>((resolve) => exec.guest.onOutput(1, this.#sink(resolve)));
    exec.guest.onDrain(() => {
      for (const seat of this.#seats) seat.drained();
    });
    this.over = exec.over.then(async (info) => {
      // Output of a command that never ran does not end.
      if (info.state === "ended") await shown;
      this.#finish(
        info.state === "ended" ? { how: "exited", info } : { how: "lost", reason: info.error ?? info.state },
      );
      return info;
    });
  }

  get id(): string {
    return this.#exec.id;
  }

  /** Rejects with why the command could not be run. */
  get opened(): Promise<unknown> {
    return this.#exec.guest.opened;
  }

  get info(): TerminalInfo {
    const { id, argv, cwd, user, startedAtMs } = this.#exec.facts;
    return { id, argv, cwd, user, startedAtMs, size: this.#window.size, viewers: this.#seats.size };
  }

  get isWatched(): boolean {
    return this.#seats.size > 0;
  }

  attach(viewer: TerminalViewer): TerminalSeat {
    const seat = new Seat(viewer, { progressed: () => this.#pace(), catchUp: () => this.#catchUp() });
    // Whoever opened it sees everything from the beginning.
    const mayNeedDrawing = this.#wasWatched && !this.#scrollback.isEmpty;
    this.#wasWatched = true;
    this.#seats.add(seat);
    seat.undoChanged(this.#undo);
    seat.push(firstLook(this.#scrollback, this.#modes));
    if (!this.#fit() && mayNeedDrawing) this.#window.nudge();
    if (this.#end !== null) this.#dismiss(seat, this.#end);
    return this.#seatOf(seat);
  }

  /** Ends the command with everything that descends from it. */
  kill(): void {
    this.#exec.abandon();
  }

  /** This process lets go: the terminal goes on, and nobody is shown anything any more. */
  release(): void {
    this.#finish({ how: "released" });
  }

  #seatOf(seat: Seat): TerminalSeat {
    const undo = () => this.#undo;
    return {
      type: (bytes) => this.#exec.guest.writeStdin(bytes),
      resize: (size) => {
        seat.size = size;
        this.#fit();
      },
      redraw: () => {
        seat.replace(this.#catchUp());
      },
      get undo() {
        return undo();
      },
      leave: () => {
        seat.leave();
        this.#seats.delete(seat);
        this.#fit();
        this.#pace();
      },
    };
  }

  #sink(ended: () => void): OutputSink {
    return {
      write: (chunk, taken) => {
        this.#show(chunk);
        this.#unpaced.push(taken);
        this.#pace();
      },
      end: () => ended(),
    };
  }

  /** The chunk is only lent. */
  #show(chunk: Buffer): void {
    const questions: Span[] = [];
    this.#modes.take(chunk, (sequence) => {
      if (isQuestion(sequence) && sequence.start >= 0) questions.push(sequence);
    });
    this.#scrollback.push(chunk);
    this.#undo = this.#modes.undo();
    for (const seat of this.#seats) seat.undoChanged(this.#undo);
    if ([...this.#seats].some(({ isBehind }) => !isBehind)) this.#pass(Buffer.from(chunk), questions);
  }

  #pass(bytes: Buffer, questions: readonly Span[]): void {
    const [asked, ...others] = this.#seats;
    asked?.push(bytes);
    if (others.length === 0) return;
    const mute = without(bytes, questions);
    for (const seat of others) seat.push(mute);
  }

  /** Lets the command go on where the fastest viewer has room, or there is none to wait for. */
  #pace(): void {
    const awaited = [...this.#seats].filter(({ isBehind }) => !isBehind);
    clearTimeout(this.#stall);
    this.#stall = undefined;
    if (awaited.length > 0 && !awaited.some(({ hasRoom }) => hasRoom)) {
      if (this.#unpaced.length > 0) this.#stall = setTimeout(() => this.#giveUpOn(awaited), STALL_MS);
      return;
    }
    for (const taken of this.#unpaced.splice(0)) taken();
  }

  #giveUpOn(stalled: readonly Seat[]): void {
    for (const seat of stalled) seat.leaveBehind();
    this.#pace();
  }

  #catchUp(): Buffer {
    this.#window.nudge();
    return catchUp(this.#scrollback, this.#modes);
  }

  /** True where the size has changed. */
  #fit(): boolean {
    const size = smallest([...this.#seats].map((seat) => seat.size));
    return size !== null && this.#window.set(size);
  }

  #finish(end: TerminalEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#window.close();
    for (const seat of this.#seats) this.#dismiss(seat, end);
    this.#pace();
  }

  #dismiss(seat: Seat, end: TerminalEnd): void {
    this.#seats.delete(seat);
    seat.end(end);
  }
}
