import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { processMark } from "../core/process-mark.js";
import { follow } from "./follow.js";
import { encodeLine } from "./line.js";
import { query } from "./query.js";
import { defaultRetention } from "./retention-options.js";
import { type HeldTurn, Turn } from "./turn.js";
import type { TurnHolder } from "./turn-holder.js";
import { verify } from "./verify.js";
import { AuditWriter, type PreparedRecord } from "./writer.js";

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "agentkernel-audit-")), "state", "audit");
});
afterEach(() => rmSync(join(folder, "..", ".."), { recursive: true, force: true }));

const record = (name: string) => ({ time: new Date().toISOString(), type: "file", fields: { path: name } });
const writer = (options = {}) => new AuditWriter({ folder, ...defaultRetention, ...options });
/** Another writer that does not wait for who has the turn. */
const pass = (...records: PreparedRecord[]) => {
  const passedOver = writer().tryAppend(records) as TurnHolder;
  expect(passedOver).toMatchObject({ state: "running" });
  expect(writer().tryAppend(records, { passedOver })).toBeNull();
};
const file = (number = 1) => join(folder, `0000000${number}.jsonl`);
const paths = async () => (await query(folder, { types: ["file"] }, 1000)).records.map(({ fields }) => fields.path);

describe("records", () => {
  test("of several writers are one chain, readable by their owner alone", async () => {
    const [one, other] = [writer(), writer()];
    expect(one.tryAppend([record("a"), record("b")])).toBeNull();
    expect(other.tryAppend([record("c")])).toBeNull();
    expect(one.tryAppend([record("d")])).toBeNull();
    expect(await paths()).toEqual(["a", "b", "c", "d"]);
    expect(await verify(folder)).toMatchObject({ isWhole: true, lines: 5, files: 1, head: { seq: 5 }, torn: null });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "turn", "free")).mode & 0o777).toBe(0o600);
  });

  test("wait while another process has the turn", () => {
    expect(writer().tryAppend([record("a")])).toBeNull();
    const held = new Turn(folder, processMark()).tryTake() as HeldTurn;
    expect(writer().tryAppend([record("b")])).toMatchObject({ state: "running" });
    held.release(held.head);
    expect(writer().tryAppend([record("b")])).toBeNull();
  });
});

test("that come faster than a disk takes them hold one file open", async () => {
  const one = writer();
  for (let at = 0; at < 200; at++) expect(one.tryAppend([record(String(at))], { durable: true })).toBeNull();
  expect(openIn(folder)).toHaveLength(1);
  await one.synced();
  expect(openIn(folder)).toEqual([]);
});

/** The files of a folder that this process holds open. */
function openIn(place: string): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    const path = linkOf(`/proc/self/fd/${fd}`);
    return path?.startsWith(place) ? [path] : [];
  });
}

/** Null: the one by which the list itself was read. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

describe("files", () => {
  test("follow each other when they are full, in one chain", async () => {
    const one = writer({ maxFileBytes: 1000 });
    for (let at = 0; at < 12; at++) expect(one.tryAppend([record(String(at))])).toBeNull();
    expect(readdirSync(folder).length).toBeGreaterThan(3);
    expect(await verify(folder)).toMatchObject({ isWhole: true });
    expect(await paths()).toEqual(Array.from({ length: 12 }, (_, at) => String(at)));
  });

  test("follow each other when they are old", async () => {
    writer().tryAppend([record("a")]);
    writer({ maxFileAgeMs: -1 }).tryAppend([record("b")]);
    expect(await verify(folder)).toMatchObject({ isWhole: true, files: 2 });
  });

  test("go when there are too many, and the chain says so; one that was taken away is missed", async () => {
    const one = writer({ maxFileBytes: 1000, keepBytes: 3000 });
    for (let at = 0; at < 40; at++) one.tryAppend([record(String(at))]);
    const left = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
    expect(left).not.toContain("00000001.jsonl");
    const verdict = await verify(folder);
    expect(verdict).toMatchObject({ isWhole: true, notes: [expect.stringMatching(/removed for their age/)] });
    rmSync(join(folder, left[0] ?? ""));
    expect((await verify(folder)).problems).toMatchObject([{ kind: "missing", file: left[1], line: 1 }]);
  });
});

describe("a writer that died", () => {
  /** Leaves the turn with a process that is gone. */
  const die = () => renameSync(join(folder, "turn", "free"), join(folder, "turn", "0123456789ab-1-1-1-a"));

  test("in the middle of a line: the half is told, then healed and kept on record", async () => {
    writer().tryAppend([record("a")]);
    die();
    appendFileSync(file(), '{"seq":3,"time":"20');
    expect(await verify(folder)).toMatchObject({ isWhole: true, torn: { file: "00000001.jsonl", line: 3 } });
    expect(writer().tryAppend([record("b")])).toBeNull();
    expect(await verify(folder)).toMatchObject({
      isWhole: true,
      torn: null,
      notes: [expect.stringMatching(/:3: half a line/)],
    });
    expect(readFileSync(file(), "utf8")).toContain('"type":"audit.torn"');
    expect(await paths()).toEqual(["a", "b"]);
  });

  test("between its line and the head: the line counts", async () => {
    writer().tryAppend([record("a")]);
    const head = readFileSync(join(folder, "turn", "free"));
    writer().tryAppend([record("b")]);
    writeFileSync(join(folder, "turn", "free"), head);
    die();
    expect(writer().tryAppend([record("c")])).toBeNull();
    expect(await paths()).toEqual(["a", "b", "c"]);
    expect(await verify(folder)).toMatchObject({ isWhole: true, notes: [] });
  });

  test("between making a file and the head: the file is used", async () => {
    writer().tryAppend([record("a")]);
    die();
    writeFileSync(file(2), "");
    expect(writer().tryAppend([record("b")])).toBeNull();
    expect(await paths()).toEqual(["a", "b"]);
    expect(await verify(folder)).toMatchObject({ isWhole: true });
  });

  test("that was only held up loses its turn, cannot touch the head, and is told", async () => {
    writer().tryAppend([record("a")]);
    const mark = processMark();
    const held = new Turn(folder, mark).tryTake() as HeldTurn;
    const { head } = await verify(folder);
    pass(record("b"));
    expect(held.release({ file: 9, bytes: 9, begun: 9, seq: 9, hash: "9", boot: "9" })).toBe(false);
    expect(writer().tryAppend([record("c")])).toBeNull();
    expect(await paths()).toEqual(["a", "b", "c"]);
    expect(await verify(folder)).toMatchObject({ isWhole: true, files: 2, notes: [] });
    // What it still wrote is no part of the chain; what anybody else writes there is a fault.
    const late = (by: string) =>
      appendFileSync(file(), encodeLine({ seq: 3, time: "", writer: by, type: "file" }, {}, head?.hash ?? "").text);
    late(mark.text);
    expect(await verify(folder)).toMatchObject({ isWhole: true, notes: [expect.stringMatching(/:3: written late/)] });
    late("another");
    expect((await verify(folder)).problems).toMatchObject([{ kind: "added", file: "00000001.jsonl", line: 4 }]);
  });
});

describe("a writer that is passed over", () => {
  test("before its line is written: notices it, and writes where it counts", async () => {
    writer().tryAppend([record("a")]);
    const held = writer();
    let isFirst = true;
    // Its line is made with the turn in its hands.
    const fields = {
      path: "c",
      get late() {
        if (isFirst) {
          isFirst = false;
          pass(record("b"));
        }
        return undefined;
      },
    };
    const records = [{ ...record("c"), fields }];
    expect(held.tryAppend(records)).toBe("turn-lost");
    expect(held.tryAppend(records)).toBeNull();
    expect(await paths()).toEqual(["a", "b", "c"]);
    expect(await verify(folder)).toMatchObject({ isWhole: true, files: 2, notes: [] });
  });

  test("is not, once it has written: who waited for it waits anew", () => {
    writer().tryAppend([record("a")]);
    const mark = processMark();
    const slow = new Turn(folder, mark);
    const first = slow.tryTake() as HeldTurn;
    const seen = writer().tryAppend([record("b")]) as TurnHolder;
    first.release(first.head);
    const entry = join(folder, "turn", "free");
    utimesSync(entry, 0, statSync(entry).mtimeMs / 1000 + 1);
    const second = slow.tryTake() as HeldTurn;
    expect(writer().tryAppend([record("b")], { passedOver: seen })).toMatchObject({ holder: mark.text });
    expect(second.release(second.head)).toBe(true);
  });

  test("has lines that were written too late: they are shown to nobody", async () => {
    writer().tryAppend([record("a")]);
    const mark = processMark();
    const held = new Turn(folder, mark).tryTake() as HeldTurn;
    pass(record("b"));
    const { text } = encodeLine(
      { seq: 3, time: record("").time, writer: mark.text, type: "file" },
      { path: "c" },
      held.head?.hash ?? "",
    );
    appendFileSync(file(), text);
    expect(await paths()).toEqual(["a", "b"]);
    const followed: unknown[] = [];
    for await (const { type, fields } of follow(folder, AbortSignal.timeout(10_000), 0)) {
      if (type === "file") followed.push(fields.path);
      if (fields.path === "b") break;
    }
    expect(followed).toEqual(["a", "b"]);
  });
});

describe("a turn that cannot be used", () => {
  test("goes back to where it was, so that nobody waits for it", () => {
    // What cannot be opened for writing: here a folder, elsewhere whatever comes when there are no more open files.
    mkdirSync(join(folder, "turn", "free"), { recursive: true });
    expect(() => new Turn(folder, processMark()).tryTake()).toThrow("EISDIR");
    expect(readdirSync(join(folder, "turn"))).toEqual(["free"]);
  });
});

describe("a log that was changed", () => {
  beforeEach(() => {
    for (const name of ["a", "b", "c", "d"]) writer().tryAppend([record(name)]);
  });
  const change = (how: (lines: string[]) => string[]) =>
    writeFileSync(file(), how(readFileSync(file(), "utf8").split("\n")).join("\n"));

  test.each([
    ["one character", "edited", 3, (lines: string[]) => lines.with(2, lines[2]?.replace('"b"', '"x"') ?? "")],
    ["a line made anew, hash and all", "edited", 3, (lines: string[]) => lines.with(2, remade(lines[2] ?? ""))],
    ["no line at all", "edited", 3, (lines: string[]) => lines.with(2, "nonsense")],
    ["a line taken out", "missing", 3, (lines: string[]) => lines.toSpliced(2, 1)],
    ["two lines swapped", "reordered", 4, (lines: string[]) => lines.toSpliced(2, 2, lines[3] ?? "", lines[2] ?? "")],
    ["a line twice", "added", 4, (lines: string[]) => lines.toSpliced(2, 0, lines[2] ?? "")],
    ["the first line taken out", "missing", 1, (lines: string[]) => lines.slice(1)],
  ])("%s: %s at line %i", async (_, kind, line, how) => {
    change(how);
    expect((await verify(folder)).problems).toMatchObject([{ kind, file: "00000001.jsonl", line }]);
  });

  test("cut at its end: told with how much is gone, for good", async () => {
    const lines = readFileSync(file(), "utf8").split("\n");
    truncateSync(file(), lines.slice(0, 3).join("\n").length + 1);
    expect((await verify(folder)).problems).toMatchObject([
      { kind: "cut", file: "00000001.jsonl", message: expect.stringMatching(/after line number 3; 2 more/) },
    ]);
    // The next writer goes on from what had been written, so that the gap stays.
    expect(writer().tryAppend([record("e")])).toBeNull();
    expect((await verify(folder)).problems).toMatchObject([
      { kind: "missing", file: "00000002.jsonl", message: expect.stringMatching(/4 to 5/) },
    ]);
  });

  test("cut, and its head taken away: told, for good", async () => {
    change((lines) => [...lines.slice(0, 3), ""]);
    rmSync(join(folder, "turn"), { recursive: true });
    expect((await verify(folder)).problems).toMatchObject([{ kind: "head", file: null }]);
    expect(writer().tryAppend([record("e")])).toBeNull();
    expect((await verify(folder)).problems).toMatchObject([{ kind: "head", file: "00000002.jsonl" }]);
  });

  test("written anew as a whole: only a hash from elsewhere tells", async () => {
    const noted = (await verify(folder)).head?.hash ?? "";
    expect(await verify(folder, noted)).toMatchObject({ isWhole: true });
    rmSync(folder, { recursive: true });
    for (const name of ["a", "x", "c", "d"]) writer().tryAppend([record(name)]);
    expect(await verify(folder)).toMatchObject({ isWhole: true });
    expect((await verify(folder, noted)).problems).toMatchObject([{ kind: "missing", file: null }]);
  });

  test("lines added by hand: told", async () => {
    const { head } = await verify(folder);
    const envelope = { seq: 6, time: new Date().toISOString(), writer: "x", type: "file" };
    appendFileSync(file(), encodeLine(envelope, {}, head?.hash ?? "").text);
    expect((await verify(folder)).problems).toMatchObject([{ kind: "added" }]);
  });
});

/** With another content and a right hash of its own. */
function remade(text: string): string {
  const { seq, time, writer: by, type, prev } = JSON.parse(text);
  return encodeLine({ seq, time, writer: by, type }, { path: "other" }, prev).text.trimEnd();
}

test("a place that cannot be used is an error, and what was written stays", async () => {
  writer().tryAppend([record("a")]);
  rmSync(join(folder, "turn"), { recursive: true });
  writeFileSync(join(folder, "turn"), "");
  expect(() => writer().tryAppend([record("b")])).toThrow(/ENOTDIR/);
  expect(await paths()).toEqual(["a"]);
});
