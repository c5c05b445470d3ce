/** Calls of a command to whoever started it, through the real guest and past a guest that lies. */
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import type { ExecRequest } from "../core/exec.js";
import type { GuestExec } from "./exec.js";
import { FrameType } from "./frame.js";
import { FakeGuest } from "./testing/fake-guest.js";
import { RealGuest } from "./testing/real-guest.js";
import { CollectingSink } from "./testing/sinks.js";

const python = (script: string): ExecRequest => ({
  argv: ["python3", "-c", `import os, socket\nfd = os.environ.get("AGENTKERNEL_CALLS_FD")\n${script}`],
  cwd: "/",
  env: { PATH: "/usr/bin:/bin" },
  stdin: false,
});

async function outputOf(exec: GuestExec): Promise<string> {
  const sinks = ([1, 2] as const).map((stream) => {
    const sink = new CollectingSink();
    exec.onOutput(stream, sink);
    return sink;
  });
  await exec.exited;
  await Promise.all(sinks.map((sink) => sink.ended));
  return sinks.map((sink) => String(sink.bytes)).join("");
}

describe("a command that may call", () => {
  let guest: RealGuest;
  afterEach(() => guest.end());

  it("speaks with whoever started it and with nobody else's callee", async () => {
    guest = new RealGuest();
    const call = (word: string) =>
      guest.session.exec(
        python(`s = socket.socket(fileno=int(fd)); s.sendall(b"${word}"); print(s.recv(100).decode())`),
        (stream: Duplex) => stream.once("data", (bytes: Buffer) => stream.end(`${bytes} to ${word}`)),
      );
    const outputs = await Promise.all((await Promise.all([call("one"), call("two")])).map(outputOf));
    expect(outputs).toEqual(["one to one\n", "two to two\n"]);
  });

  it("is the only one with that descriptor, and none has it that was not given it", async () => {
    guest = new RealGuest();
    const listed = 'print(fd, sorted(int(n) for n in os.listdir("/proc/self/fd") if int(n) > 2)[:-1])';
    const streams: Duplex[] = [];
    const calling = await guest.session.exec(python(`${listed}; print(socket.socket(fileno=int(fd)).recv(1))`), (s) =>
      streams.push(s),
    );
    const other = await guest.session.exec(python(listed));
    expect(await outputOf(other)).toBe("None []\n");
    streams[0]?.end();
    const [, fd] = /^(\d+) \[(\d+)\]\n/.exec(await outputOf(calling)) ?? [];
    expect(Number(fd)).toBeGreaterThan(2);
  });

  it("carries as much as is asked for, and its end is the end of the stream", async () => {
    guest = new RealGuest();
    let received: Promise<string> | null = null;
    const script = 's = socket.socket(fileno=int(fd)); s.sendall(b"x" * 3000000)';
    const exec = await guest.session.exec(python(script), (stream) => {
      received = text(stream);
    });
    expect(await outputOf(exec)).toBe("");
    expect((await (received ?? "")).length).toBe(3_000_000);
  });
});

describe("a guest that opens calls of its own", () => {
  it("is refused for commands that may not call, that are over, and for a second time", async () => {
    const guest = await FakeGuest.ready();
    const request: ExecRequest = { argv: ["x"], cwd: "/", env: {}, stdin: false };
    const streams: Duplex[] = [];
    await guest.session.exec(request);
    await guest.session.exec(request, (stream) => streams.push(stream));
    const [first, second] = [1, 3];
    for (const [id, exec] of [
      [2, first],
      [4, second],
      [6, second],
      [8, 999],
    ] as const) {
      guest.json(FrameType.open, id, { kind: "call", exec });
    }
    const answers = await Promise.all([2, 4, 6, 8].map((id) => guest.sees(({ channel }) => channel === id)));
    const { opened, failed } = FrameType;
    expect(answers.map(({ type }) => type)).toEqual([failed, opened, failed, failed]);
    expect(streams).toHaveLength(1);
    guest.end();
  });
});
