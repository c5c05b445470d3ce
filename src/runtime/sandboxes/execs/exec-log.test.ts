import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ExecLog } from "./exec-log.js";
import { followLog, type LogOptions } from "./follow-log.js";
import type { LogStream } from "./log-format.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "exec-log-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(log: ExecLog, stream: LogStream, text: string): Promise<void> {
  return new Promise((resolve) => log.sink(stream, () => {}).write(Buffer.from(text), resolve));
}

interface Read {
  readonly out: string;
  readonly err: string;
  readonly lost: number;
}

async function read(log: ExecLog | null, options: LogOptions = { follow: false }): Promise<Read> {
  const text = { 1: "", 2: "" };
  let lost = 0;
  for await (const piece of followLog(folder, "x", log, options)) {
    if ("bytes" in piece) text[piece.stream] += piece.bytes.toString();
    else lost += piece.lostBytes;
  }
  return { out: text[1], err: text[2], lost };
}

describe("the log of a command", () => {
  test("gives back what was written, each stream in its order", async () => {
    const log = await ExecLog.open(folder, "x");
    await write(log, 1, "a");
    await write(log, 2, "E");
    await write(log, 1, "b".repeat(200_000));
    await log.close();
    expect(await read(null)).toEqual({ out: `a${"b".repeat(200_000)}`, err: "E", lost: 0 });
  });

  test("of nothing is empty", async () => {
    const log = await ExecLog.open(folder, "x");
    await log.close();
    expect(await read(null)).toEqual({ out: "", err: "", lost: 0 });
  });

  test("keeps the newest, counts what is gone, and stays within its bounds", async () => {
    const log = await ExecLog.open(folder, "x", 1000);
    const lines = Array.from({ length: 500 }, (_, line) => `line ${line}\n`);
    for (const line of lines) await write(log, 1, line);
    await log.close();
    const { out, lost } = await read(null);
    const all = lines.join("");
    expect(lost).toBeGreaterThan(0);
    expect(all.slice(lost)).toBe(out);
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(sizes).toHaveLength(2);
    for (const size of sizes) expect(size).toBeLessThan(1100);
  });

  test("goes on where a killed writer left it, whatever half record that left", async () => {
    const first = await ExecLog.open(folder, "x");
    await write(first, 1, "whole");
    await write(first, 2, "err");
    for (const half of [Buffer.from([1]), Buffer.from([1, 200, 0, 0, 0, 65, 66]), Buffer.from([77, 1, 2, 3, 4, 5])]) {
      appendFileSync(join(folder, "x.log"), half);
      const next = await ExecLog.open(folder, "x");
      expect(next.place).toMatchObject({ stdout: 5, stderr: 3 });
      await next.close();
    }
    const last = await ExecLog.open(folder, "x");
    await write(last, 1, " and more");
    await last.close();
    expect(await read(null)).toEqual({ out: "whole and more", err: "err", lost: 0 });
    await first.close();
  });

  test("that lost its newer file's beginning goes on after the older one", async () => {
    const log = await ExecLog.open(folder, "x", 100);
    for (let line = 0; line < 20; line++) await write(log, 1, `line ${line}\n`);
    const { stdout } = log.place;
    await log.close();
    truncateSync(join(folder, "x.log"), 10);
    const next = await ExecLog.open(folder, "x", 100);
    expect(next.place.stdout).toBeLessThan(stdout);
    next.skip(1, stdout - next.place.stdout);
    await write(next, 1, "after\n");
    expect(next.place.stdout).toBe(stdout + 6);
    await next.close();
    expect((await read(null)).out).toMatch(/after\n$/);
  });

  test("tells of bytes that are missing where they are", async () => {
    const log = await ExecLog.open(folder, "x");
    await write(log, 1, "a");
    log.skip(1, 7);
    await write(log, 1, "b");
    expect(log.place).toMatchObject({ stdout: 9 });
    await log.close();
    expect(await read(null)).toEqual({ out: "ab", err: "", lost: 7 });
  });

  test("costs output and no stall where it cannot be written", async () => {
    rmSync(folder, { recursive: true });
    const log = await ExecLog.open(folder, "x");
    await write(log, 1, "nowhere to go");
    expect(log.unwritten).toBe(13);
    await log.close();
    expect(log.isClosed).toBe(true);
    folder = mkdtempSync(join(tmpdir(), "exec-log-"));
  });

  test("can be followed from before its first byte to its end, also by one who is slow", async () => {
    const log = await ExecLog.open(folder, "x", 500);
    const following = read(log, { follow: true });
    let written = "";
    for (let line = 0; line < 100; line++) {
      written += `line ${line}\n`;
      await write(log, 1, `line ${line}\n`);
    }
    await log.close();
    const { out, lost } = await following;
    expect(written.slice(lost)).toBe(out);
  });

  test("is followed no longer than somebody wants to", async () => {
    const log = await ExecLog.open(folder, "x");
    await write(log, 1, "a");
    const abort = new AbortController();
    const following = read(log, { follow: true, signal: abort.signal });
    abort.abort();
    expect((await following).out.length).toBeLessThanOrEqual(1);
    await log.close();
  });

  test("can be read from near its end", async () => {
    const log = await ExecLog.open(folder, "x");
    for (let line = 0; line < 100; line++) await write(log, 1, `line ${line}\n`);
    await log.close();
    expect((await read(null, { follow: false, tailBytes: 16 })).out).toBe("line 98\nline 99\n");
  });
});
