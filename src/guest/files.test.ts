import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_DIR_ENTRIES } from "./dir-listing.js";
import { FrameType } from "./frame.js";
import { FakeGuest } from "./testing/fake-guest.js";

let guest: FakeGuest;
beforeEach(async () => {
  guest = await FakeGuest.ready({ windowBytes: 65_536 });
});
afterEach(() => guest.end());

const INFO = { size: 6, mode: 0o644, mtime_ms: 12 };
const ENTRY = { ...INFO, name: "a", type: "file" };
const openBody = async () => JSON.parse(String((await guest.sees((frame) => frame.type === FrameType.open)).payload));
const list = (text: string) => guest.json(FrameType.opened, 1, {}).data(1, 1, text).eof(1, 1);

describe("reading a file", () => {
  it("streams it with what is known of it", async () => {
    const reading = guest.session.files.openFile("/f", { offsetBytes: 3, limitBytes: 6 });
    expect(await openBody()).toEqual({ kind: "file-read", path: "/f", offset: 3, limit: 6 });
    guest.json(FrameType.opened, 1, INFO).data(1, 1, "abc").data(1, 1, "def").eof(1, 1);
    guest.json(FrameType.close, 1, {});
    const { info, chunks } = await reading;
    expect(info).toEqual({ sizeBytes: 6, mode: 0o644, mtimeMs: 12 });
    let text = "";
    for await (const chunk of chunks) text += String(chunk);
    expect(text).toBe("abcdef");
  });

  it("takes no more than the caller is ready to hold, whatever size was claimed", async () => {
    const reading = guest.session.files.readFile("/f", 5);
    guest.json(FrameType.opened, 1, { ...INFO, size: 1 }).data(1, 1, "abcdef");
    await expect(reading).rejects.toMatchObject({ code: "file_error", details: { code: "too_large", path: "/f" } });
    await guest.sees((frame) => frame.type === FrameType.close);
    guest.json(FrameType.close, 1, {});
    expect(guest.session.failure).toBeNull();
  });

  it("does not read ahead of whoever iterates by more than the window", async () => {
    const reading = guest.session.files.openFile("/f");
    guest.json(FrameType.opened, 1, INFO).data(1, 1, Buffer.alloc(65_536));
    const { chunks } = await reading;
    guest.json(FrameType.open, 2, { kind: "unheard-of" });
    await guest.sees((frame) => frame.type === FrameType.failed);
    expect(guest.frames.some((frame) => frame.type === FrameType.credit)).toBe(false);
    let taken = 0;
    for await (const chunk of chunks) {
      taken += chunk.length;
      if (taken === 65_536) break;
    }
    await guest.sees((frame) => frame.type === FrameType.credit);
    await guest.sees((frame) => frame.type === FrameType.close);
  });

  it("an error in the middle reaches whoever iterates, after the bytes before it", async () => {
    const reading = guest.session.files.readFile("/f", 100);
    guest.json(FrameType.opened, 1, INFO).data(1, 1, "ab");
    guest.json(FrameType.close, 1, { code: "io", message: "bad disk" });
    await expect(reading).rejects.toMatchObject({ code: "file_error", message: "bad disk", details: { code: "io" } });
  });

  it("CLOSE without an end of the bytes and without an error is a violation", async () => {
    const reading = guest.session.files.readFile("/f", 100);
    guest.json(FrameType.opened, 1, INFO).data(1, 1, "ab").json(FrameType.close, 1, {});
    await expect(reading).rejects.toMatchObject({ details: { reason: "terminal-before-eof" } });
  });

  it("EXIT on it is a violation", async () => {
    const reading = guest.session.files.readFile("/f", 100);
    guest.json(FrameType.opened, 1, INFO).eof(1, 1).json(FrameType.exit, 1, {});
    await expect(reading).rejects.toMatchObject({ details: { reason: "wrong-terminal" } });
  });
});

describe("writing a file", () => {
  it("sends the bytes, then EOF, and resolves when the guest has put it in place", async () => {
    const writing = guest.session.files.writeFile("/f", Buffer.from("hello"), { mode: 0o600, parents: true });
    expect(await openBody()).toEqual({ kind: "file-write", path: "/f", mode: 0o600, parents: true });
    await guest.sees((frame) => frame.type === FrameType.eof);
    expect(String(guest.received(1))).toBe("hello");
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, { size: 5 });
    expect(await writing).toEqual({ sizeBytes: 5 });
  });

  it("streams a source as the guest gives credit", async () => {
    async function* source() {
      for (let i = 0; i < 10; i++) yield Buffer.alloc(100_000, i);
    }
    const writing = guest.session.files.writeFile("/f", source());
    guest.json(FrameType.opened, 1, {});
    await guest.sees(() => guest.dataBytes === 262_144);
    guest.credit(1, 0, 737_856);
    await guest.sees((frame) => frame.type === FrameType.eof);
    guest.json(FrameType.close, 1, { size: 1_000_000 });
    expect(await writing).toEqual({ sizeBytes: 1_000_000 });
  });

  it.each([4, 6])("an acknowledgement of %i of 5 bytes is a violation", async (size) => {
    const writing = guest.session.files.writeFile("/f", Buffer.from("hello"));
    await guest.sees((frame) => frame.type === FrameType.eof);
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, { size });
    await expect(writing).rejects.toMatchObject({ details: { reason: "bad-member" } });
  });

  it("a full disk stops the source", async () => {
    let left = false;
    async function* source() {
      try {
        while (true) yield Buffer.alloc(100_000);
      } finally {
        left = true;
      }
    }
    const writing = guest.session.files.writeFile("/f", source());
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, { code: "no_space", message: "full" });
    await expect(writing).rejects.toMatchObject({ code: "file_error", details: { code: "no_space", path: "/f" } });
    expect(left).toBe(true);
  });

  it("a source that fails abandons the file", async () => {
    const fault = new Error("source");
    async function* source(): AsyncGenerator<Buffer> {
      yield Buffer.from("a");
      throw fault;
    }
    await expect(guest.session.files.writeFile("/f", source())).rejects.toBe(fault);
    await guest.sees((frame) => frame.type === FrameType.close);
    expect(guest.frames.some((frame) => frame.type === FrameType.eof)).toBe(false);
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, { code: "io", message: "closed" });
    guest.json(FrameType.open, 2, { kind: "unheard-of" });
    await guest.sees((frame) => frame.type === FrameType.failed);
    expect(guest.session.failure).toBeNull();
  });
});

describe("folders and metadata", () => {
  it("stat", async () => {
    const stat = guest.session.files.stat("/l");
    const body = { ...INFO, type: "symlink", uid: 1, gid: 2, target: "/t", later: [] };
    guest.json(FrameType.opened, 1, body).json(FrameType.close, 1, {});
    expect(await stat).toEqual({
      type: "symlink",
      sizeBytes: 6,
      mode: 0o644,
      mtimeMs: 12,
      uid: 1,
      gid: 2,
      target: "/t",
    });
  });

  it.each([
    ["an unknown type", { ...INFO, type: "door", uid: 1, gid: 2 }],
    ["a negative size", { ...INFO, size: -1, type: "file", uid: 1, gid: 2 }],
    ["a size above 2^53 - 1", { ...INFO, size: 2 ** 53, type: "file", uid: 1, gid: 2 }],
    ["no owner", { ...INFO, type: "file" }],
    ["a link without a target", { ...INFO, type: "symlink", uid: 1, gid: 2 }],
  ])("stat with %s is a violation", async (_name, body) => {
    const stat = guest.session.files.stat("/l");
    guest.json(FrameType.opened, 1, body);
    await expect(stat).rejects.toMatchObject({ details: { reason: "bad-member" } });
  });

  it.each(["mkdir", "remove", "rename"] as const)("%s", async (op) => {
    const { files } = guest.session;
    const calls = {
      mkdir: () => files.mkdir("/d", { mode: 0o755, parents: true }),
      remove: () => files.remove("/d", { recursive: true }),
      rename: () => files.rename("/d", "/e"),
    };
    const extra = { mkdir: { mode: 0o755, parents: true }, remove: { recursive: true }, rename: { to: "/e" } };
    const working = calls[op]();
    expect(await openBody()).toEqual({ kind: "file-op", op, path: "/d", ...extra[op] });
    guest.json(FrameType.opened, 1, {}).json(FrameType.close, 1, {});
    await working;
  });

  it("FAILED is a file error with the guest's code", async () => {
    const removing = guest.session.files.remove("/d");
    guest.json(FrameType.failed, 1, { code: "denied", message: "no" });
    await expect(removing).rejects.toMatchObject({ code: "file_error", details: { code: "denied", path: "/d" } });
  });

  it("DATA where none is due is a violation", async () => {
    const removing = guest.session.files.remove("/d");
    guest.json(FrameType.opened, 1, {}).data(1, 1, "x");
    await expect(removing).rejects.toMatchObject({ details: { reason: "wrong-stream" } });
  });

  it("list gives the entries, however they are cut into frames, and says when there are more", async () => {
    const listing = guest.session.files.list("/d");
    const text = `${JSON.stringify(ENTRY)}\n${JSON.stringify({ ...ENTRY, name: "ü\n", type: "dir" })}\n`;
    guest.json(FrameType.opened, 1, {});
    for (const byte of Buffer.from(text)) guest.data(1, 1, Buffer.from([byte]));
    guest.eof(1, 1).json(FrameType.close, 1, { truncated: true });
    const { entries, truncated } = await listing;
    expect(entries.map((entry) => [entry.name, entry.type])).toEqual([
      ["a", "file"],
      ["ü\n", "dir"],
    ]);
    expect(truncated).toBe(true);
  });

  it.each(["", ".", "..", "a/b", "/etc", "a\0", "n".repeat(256)])("an entry named %j is a violation", async (name) => {
    const listing = guest.session.files.list("/d");
    list(`${JSON.stringify({ ...ENTRY, name })}\n`);
    await expect(listing).rejects.toMatchObject({ code: "guest_protocol", details: { reason: "bad-member" } });
  });

  it("a line without end is a violation", async () => {
    const listing = guest.session.files.list("/d");
    list("x".repeat(4097));
    await expect(listing).rejects.toMatchObject({ details: { reason: "oversize" } });
  });

  it("more entries than the limit are a violation", async () => {
    const listing = guest.session.files.list("/d");
    const line = `${JSON.stringify(ENTRY)}\n`;
    const perFrame = Math.floor(30_000 / line.length);
    guest.json(FrameType.opened, 1, {});
    let credits = 0;
    for (let sent = 0; sent <= MAX_DIR_ENTRIES; sent += perFrame) {
      guest.data(1, 1, line.repeat(perFrame));
      await Promise.race([
        guest.session.ended,
        guest.sees(() => guest.frames.length > credits || guest.session.failure !== null),
      ]);
      credits = guest.frames.length - 1;
    }
    await expect(listing).rejects.toMatchObject({ details: { reason: "oversize" } });
  });
});
