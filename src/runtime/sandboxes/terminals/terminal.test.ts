import { Buffer } from "node:buffer";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deferred } from "../../../core/deferred.js";
import type { ExecExit, TerminalSize } from "../../../core/exec.js";
import type { GuestExec, OutputSink } from "../../../guest/index.js";
import { SandboxExec } from "../execs/sandbox-exec.js";
import { VIEWER_BYTES } from "./seat.js";
import { Terminal } from "./terminal.js";
import type { TerminalEnd, TerminalViewer } from "./viewer.js";

/** A command whose other side is the test. */
class FakeCommand {
  readonly sizes: TerminalSize[] = [];
  readonly typed: string[] = [];
  readonly exit = deferred<ExecExit>();
  takes = true;
  #sink: OutputSink | null = null;
  #drained: () => void = () => {};
  waiting = 0;

  readonly guest: GuestExec = {
    opened: Promise.resolve({ pid: 7 }),
    exited: this.exit.promise,
    onOutput: (_, sink) => {
      this.#sink = sink;
    },
    stopOutput: () => {},
    writeStdin: (chunk) => {
      this.typed.push(chunk.toString());
      return this.takes;
    },
    onDrain: (listener) => {
      this.#drained = listener;
    },
    endStdin: () => {},
    signal: () => {},
    resize: (size) => this.sizes.push(size),
    close: () => {},
  };

  show(text: string | Buffer): void {
    this.waiting++;
    this.#sink?.write(Buffer.from(text), () => this.waiting--);
  }

  drain(): void {
    this.#drained();
  }

  end(code: number): void {
    this.exit.resolve({ code, signal: null, usage: { userUs: 0, systemUs: 0, maxRssKiB: 0 } });
    this.#sink?.end();
  }
}

/** One that takes what it is sent when the test says so, or at once. */
class FakeViewer implements TerminalViewer {
  readonly size: TerminalSize | null;
  readonly seen: Buffer[] = [];
  readonly undone: string[] = [];
  drains = 0;
  ended: TerminalEnd | null = null;
  isQuick: boolean;
  #taken: (() => void) | null = null;

  constructor(size: TerminalSize | null, isQuick = true) {
    this.size = size;
    this.isQuick = isQuick;
  }

  write(bytes: Buffer, taken: () => void): void {
    this.seen.push(bytes);
    if (this.isQuick) taken();
    else this.#taken = taken;
  }

  undoChanged(undo: string): void {
    this.undone.push(undo);
  }

  drained(): void {
    this.drains++;
  }

  end(end: TerminalEnd): void {
    this.ended = end;
  }

  take(): void {
    const taken = this.#taken;
    this.#taken = null;
    taken?.();
  }

  get text(): string {
    return Buffer.concat(this.seen).toString();
  }
}

const size = { cols: 80, rows: 24 };

function make(known: TerminalSize | null = size): { command: FakeCommand; terminal: Terminal } {
  const command = new FakeCommand();
  const facts = { id: "t1", argv: ["sh"], cwd: "/", user: null, tty: true, detached: true, startedAtMs: 0 };
  return { command, terminal: new Terminal(new SandboxExec(facts, command.guest, null), known) };
}

describe("a terminal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("shows the same to everybody, and takes what each types", () => {
    const { command, terminal } = make();
    const [a, b] = [new FakeViewer(size), new FakeViewer(size)];
    const [seatA, seatB] = [terminal.attach(a), terminal.attach(b)];
    command.show("hello");
    expect([a.text, b.text]).toEqual(["hello", "hello"]);
    seatA.type(Buffer.from("1"));
    seatB.type(Buffer.from("2"));
    expect(command.typed).toEqual(["1", "2"]);
    expect(terminal.info.viewers).toBe(2);
  });

  it("asks only one of them", () => {
    const { command, terminal } = make();
    const [a, b] = [new FakeViewer(size), new FakeViewer(size)];
    terminal.attach(a);
    terminal.attach(b);
    command.show("where\x1b[6n?");
    expect([a.text, b.text]).toEqual(["where\x1b[6n?", "where?"]);
  });

  it("goes on when one leaves, and shows the last of it to whoever comes", () => {
    const { command, terminal } = make();
    const first = new FakeViewer(size);
    const seat = terminal.attach(first);
    command.show("before ");
    seat.leave();
    command.show("meanwhile");
    const second = new FakeViewer(size);
    terminal.attach(second);
    expect(first.text).toBe("before ");
    expect(second.text).toContain("before meanwhile");
    expect(command.waiting).toBe(0);
  });

  it("is as large as the smallest window, and grows again when that is gone", () => {
    const { command, terminal } = make();
    terminal.attach(new FakeViewer({ cols: 100, rows: 50 }));
    const small = terminal.attach(new FakeViewer({ cols: 120, rows: 20 }));
    terminal.attach(new FakeViewer(null));
    expect(command.sizes).toEqual([
      { cols: 100, rows: 50 },
      { cols: 100, rows: 20 },
    ]);
    small.resize({ cols: 90, rows: 30 });
    small.leave();
    expect(command.sizes.slice(2)).toEqual([
      { cols: 90, rows: 30 },
      { cols: 100, rows: 50 },
    ]);
  });

  it("has its program draw anew for whoever comes back with a window of the same size", () => {
    const { command, terminal } = make();
    const opener = terminal.attach(new FakeViewer(size));
    command.show("vim");
    opener.leave();
    expect(command.sizes).toEqual([]);
    terminal.attach(new FakeViewer(size));
    expect(command.sizes).toEqual([{ cols: 80, rows: 23 }]);
    vi.runAllTimers();
    expect(command.sizes).toEqual([{ cols: 80, rows: 23 }, size]);
  });

  it("takes another size at once, also while its program is having another for a moment", () => {
    const { command, terminal } = make();
    terminal.attach(new FakeViewer(size)).leave();
    command.show("vim");
    const seat = terminal.attach(new FakeViewer(size));
    seat.resize({ cols: 100, rows: 50 });
    vi.runAllTimers();
    expect(command.sizes).toEqual([
      { cols: 80, rows: 23 },
      { cols: 100, rows: 50 },
    ]);
  });

  it("does not have it drawn anew for whoever opened it", () => {
    const { command, terminal } = make();
    command.show("$ ");
    terminal.attach(new FakeViewer(size));
    expect(command.sizes).toEqual([]);
  });

  it("takes the size of the first who looks at it after another process had it", () => {
    const { command, terminal } = make(null);
    terminal.attach(new FakeViewer(size));
    expect(command.sizes).toEqual([size]);
  });

  it("holds its command back for the only one who looks, and loses nothing", () => {
    const { command, terminal } = make();
    const slow = new FakeViewer(size, false);
    terminal.attach(slow);
    const piece = Buffer.alloc(32_768, "x");
    for (let count = 0; count < 8; count++) command.show(piece);
    expect(command.waiting).toBeGreaterThan(0);
    for (let count = 0; count < 8; count++) slow.take();
    expect(command.waiting).toBe(0);
    expect(slow.text).toBe("x".repeat(8 * 32_768));
  });

  it("holds it back for nobody who has stopped reading, and shows them where things stand later", () => {
    const { command, terminal } = make();
    const stuck = new FakeViewer(size, false);
    terminal.attach(stuck);
    for (let count = 0; count < 4; count++) command.show(Buffer.alloc(65_536, "x"));
    vi.advanceTimersByTime(2000);
    expect(command.waiting).toBe(0);
    for (let count = 0; count < 100; count++) command.show(Buffer.alloc(65_536, "y"));
    command.show("\nnow\n$ ");
    expect(command.waiting).toBe(0);
    const before = stuck.seen.length;
    stuck.isQuick = true;
    stuck.take();
    const caughtUp = Buffer.concat(stuck.seen.slice(before)).toString();
    expect(caughtUp).toContain("\x1b[2J");
    expect(caughtUp.endsWith("\nnow\n$ ")).toBe(true);
    expect(caughtUp.length).toBeLessThan(70_000);
    command.show("live");
    expect(stuck.text.endsWith("live")).toBe(true);
  });

  it("lets a slow one neither stall a quick one nor take memory", () => {
    const { command, terminal } = make();
    const [quick, slow] = [new FakeViewer(size), new FakeViewer(size, false)];
    terminal.attach(slow);
    terminal.attach(quick);
    const rounds = (4 * VIEWER_BYTES) / 65_536;
    for (let count = 0; count < rounds; count++) command.show(Buffer.alloc(65_536, "z"));
    expect(command.waiting).toBe(0);
    expect(quick.text).toHaveLength(rounds * 65_536);
    expect(slow.seen).toHaveLength(1);
  });

  it("tells whoever looks how their screen is given back", () => {
    const { command, terminal } = make();
    const first = new FakeViewer(size);
    const seat = terminal.attach(first);
    command.show("\x1b[?1049h\x1b[?25l");
    expect(seat.undo).toBe("\x1b[?25h\x1b[?1049l");
    expect(first.undone.at(-1)).toBe(seat.undo);
    const second = new FakeViewer(size);
    terminal.attach(second);
    expect(second.undone).toEqual([seat.undo]);
  });

  it("tells it no more often than a viewer takes something, whatever the program does", () => {
    const { command, terminal } = make();
    const stuck = new FakeViewer(size, false);
    terminal.attach(stuck);
    for (let count = 0; count < 1000; count++) command.show(count % 2 === 0 ? "\x1b[?25l" : "\x1b[?25h");
    expect(stuck.undone.length).toBeLessThan(3);
  });

  it("passes on that what is typed has to wait", () => {
    const { command, terminal } = make();
    const viewer = new FakeViewer(size);
    const seat = terminal.attach(viewer);
    command.takes = false;
    expect(seat.type(Buffer.from("paste"))).toBe(false);
    command.drain();
    expect(viewer.drains).toBe(1);
  });

  it("ends for everybody with the status of its command, after its last words", async () => {
    const { command, terminal } = make();
    const [quick, slow, gone] = [new FakeViewer(size), new FakeViewer(size, false), new FakeViewer(size)];
    terminal.attach(quick);
    terminal.attach(slow);
    terminal.attach(gone).leave();
    command.show("bye");
    command.end(3);
    expect(await terminal.over).toMatchObject({ state: "ended", code: 3 });
    expect(quick.ended).toMatchObject({ how: "exited", info: { code: 3 } });
    expect(slow.ended).toBeNull();
    slow.take();
    expect(slow.ended).toMatchObject({ how: "exited" });
    expect(gone.ended).toBeNull();
    const late = new FakeViewer(size);
    terminal.attach(late);
    expect(late.ended).toMatchObject({ how: "exited" });
  });

  it("says that it is lost where its sandbox is", async () => {
    const { command, terminal } = make();
    const viewer = new FakeViewer(size);
    terminal.attach(viewer);
    command.exit.reject(new Error("the sandbox is gone"));
    await terminal.over;
    expect(viewer.ended).toEqual({ how: "lost", reason: "the sandbox is gone" });
  });
});
