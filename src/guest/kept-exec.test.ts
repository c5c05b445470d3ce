import { afterEach, describe, expect, it } from "vitest";
import { FrameType } from "./frame.js";
import { EXIT_0, FakeGuest, READY } from "./testing/fake-guest.js";
import { CollectingSink } from "./testing/sinks.js";

const KEPT = {
  key: "work",
  pid: 7,
  program: "sh",
  tty: false,
  stdin: { received: 5, ended: false },
  stdout: { acked: 100, sent: 130 },
  stderr: { acked: 0, sent: 0 },
};

let guest: FakeGuest;
afterEach(() => guest.end());

async function greetedWith(...execs: readonly unknown[]): Promise<void> {
  guest = await FakeGuest.connect();
  guest.json(FrameType.hello, 0, { ...READY, execs });
}

describe("commands that outlived a connection", () => {
  it("are listed when the guest is ready", async () => {
    await greetedWith(
      KEPT,
      { ...KEPT, key: "ended", exit: EXIT_0 },
      { ...KEPT, key: "failed", pid: null, failed: { code: "not_found", message: "no such\u001b file" } },
      { ...KEPT, key: "terminal", tty: true, stderr: null, stdin: null },
    );
    const { execs } = await guest.session.ready;
    expect(execs.map(({ key, pid, tty }) => [key, pid, tty])).toEqual([
      ["work", 7, false],
      ["ended", 7, false],
      ["failed", null, false],
      ["terminal", 7, true],
    ]);
    expect(execs[0]).toMatchObject({ stdin: { receivedBytes: 5, ended: false }, exit: null, failure: null });
    expect(execs[1]?.exit).toMatchObject({ code: 0, signal: null });
    expect(execs[2]?.failure).toEqual({ code: "not_found", message: "no such\\u{1b} file" });
    expect(execs[3]).toMatchObject({ stdin: null, stderr: null });
  });

  it("are none of a guest that says nothing of them", async () => {
    guest = await FakeGuest.ready();
    expect((await guest.session.ready).execs).toEqual([]);
  });

  it.each([
    ["more than are kept", Array.from({ length: 129 }, (_, index) => ({ ...KEPT, key: `k${index}` }))],
    ["the same one twice", [KEPT, KEPT]],
    ["no object", [1]],
    ["a key that is a path", [{ ...KEPT, key: "../x" }]],
    ["a key that is too long", [{ ...KEPT, key: "k".repeat(65) }]],
    ["a program of any length", [{ ...KEPT, program: "p".repeat(33) }]],
    ["less sent than acknowledged", [{ ...KEPT, stdout: { acked: 2, sent: 1 } }]],
    ["a negative offset", [{ ...KEPT, stdout: { acked: -1, sent: 1 } }]],
    ["an offset beyond all numbers", [{ ...KEPT, stdout: { acked: 2 ** 53, sent: 2 ** 53 } }]],
    ["more unacknowledged than any window", [{ ...KEPT, stdout: { acked: 0, sent: 2 ** 26 } }]],
    ["no stdout", [{ ...KEPT, stdout: null }]],
    ["no stderr and no terminal", [{ ...KEPT, stderr: null }]],
    ["a terminal with stderr", [{ ...KEPT, tty: true }]],
    ["an end and a failure", [{ ...KEPT, exit: EXIT_0, failed: { code: "io", message: "" } }]],
    ["an end that is none", [{ ...KEPT, exit: { code: null, signal: null } }]],
    ["a pid that is none", [{ ...KEPT, pid: 0 }]],
  ] as const)("a list with %s is a violation", async (_what, execs) => {
    await greetedWith(...execs);
    await expect(guest.session.ready).rejects.toMatchObject({ code: "guest_protocol" });
    expect(await guest.session.ended).toMatchObject({ details: { reason: "bad-member" } });
  });

  it("are taken up where it is asked for, and can be written to when the guest has room", async () => {
    await greetedWith(KEPT);
    const [kept] = (await guest.session.ready).execs;
    if (kept === undefined) throw new Error("none listed");
    const exec = await guest.session.attach(kept, { stdout: 110 });
    const sink = new CollectingSink();
    exec.onOutput(1, sink);
    const open = await guest.sees((frame) => frame.type === FrameType.open);
    expect(JSON.parse(String(open.payload))).toEqual({ kind: "exec-attach", key: "work", stdout: 110 });
    expect(exec.writeStdin(Buffer.from("input"))).toBe(false);
    guest.json(FrameType.opened, 1, { pid: 7 }).data(1, 1, "rest");
    expect(await exec.opened).toEqual({ pid: 7 });
    expect(guest.received(1)).toHaveLength(0);
    guest.credit(1, 0, 3);
    await guest.sees((frame) => frame.type === FrameType.data);
    expect(String(guest.received(1))).toBe("inp");
    guest.eof(1, 1).eof(1, 2).json(FrameType.exit, 1, EXIT_0);
    expect(await exec.exited).toMatchObject({ code: 0 });
    expect(String(sink.bytes)).toBe("rest");
  });

  it("cannot be taken up where their bytes are gone or not yet there, nor when they never ran", async () => {
    await greetedWith(KEPT, { ...KEPT, key: "failed", pid: null, failed: { code: "io", message: "broken" } });
    const [kept, failed] = (await guest.session.ready).execs;
    if (kept === undefined || failed === undefined) throw new Error("none listed");
    for (const at of [{ stdout: 99 }, { stdout: 131 }, { stderr: 1 }]) {
      await expect(guest.session.attach(kept, at)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(guest.session.attach(failed)).rejects.toMatchObject({ code: "conflict" });
  });

  it.each([
    ["unknown_key", "not_found"],
    ["busy", "conflict"],
    ["gone", "conflict"],
  ])("the guest's refusal %s is an error of ours", async (code, error) => {
    await greetedWith(KEPT);
    const [kept] = (await guest.session.ready).execs;
    if (kept === undefined) throw new Error("none listed");
    const exec = await guest.session.attach(kept);
    const forgotten = guest.session.forget("work");
    guest.json(FrameType.failed, 1, { code, message: "so it is" }).json(FrameType.failed, 3, { code, message: "m" });
    await expect(exec.exited).rejects.toMatchObject({ code: error });
    await expect(forgotten).rejects.toMatchObject({ code: error });
  });

  it("are forgotten on request", async () => {
    await greetedWith(KEPT);
    await guest.session.ready;
    const forgotten = guest.session.forget("work");
    const open = await guest.sees((frame) => frame.type === FrameType.open);
    expect(JSON.parse(String(open.payload))).toEqual({ kind: "exec-forget", key: "work" });
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, {});
    await forgotten;
  });

  it("have a key that is checked before anything is sent", async () => {
    guest = await FakeGuest.ready();
    const request = { argv: ["true"], cwd: "/", env: {}, stdin: false };
    await expect(guest.session.exec({ ...request, key: "a b" })).rejects.toMatchObject({ code: "invalid_argument" });
    await guest.session.exec({ ...request, key: "a-b" });
    const open = await guest.sees((frame) => frame.type === FrameType.open);
    expect(JSON.parse(String(open.payload))).toMatchObject({ kind: "exec", key: "a-b" });
  });
});
