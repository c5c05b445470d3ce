/** The TypeScript host against the Rust guest. */
import { createHash, randomFillSync } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ExecRequest } from "../core/exec.js";
import type { GuestExec } from "./exec.js";
import { MAX_WRITES_IN_FLIGHT } from "./inbound-stream.js";
import { RealGuest } from "./testing/real-guest.js";
import { CollectingSink, StuckSink } from "./testing/sinks.js";

const ENV = { PATH: "/usr/bin:/bin" };
const command = (...argv: string[]): ExecRequest => ({ argv, cwd: "/", env: ENV, stdin: false });
const shell = (script: string): ExecRequest => command("sh", "-c", script);

let guest: RealGuest;
beforeEach(() => {
  guest = new RealGuest();
});
afterEach(() => guest.end());

async function collect(exec: GuestExec, streams: readonly (1 | 2)[] = [1, 2]) {
  const sinks = streams.map((stream) => {
    const sink = new CollectingSink();
    exec.onOutput(stream, sink);
    return sink;
  });
  const exit = await exec.exited;
  await Promise.all(sinks.map((sink) => sink.ended));
  return { exit, texts: sinks.map((sink) => String(sink.bytes)) };
}

describe("commands", () => {
  it("streams apart and the exit code", async () => {
    const { exit, texts } = await collect(await guest.session.exec(shell("echo out; echo err >&2; exit 3")));
    expect(texts).toEqual(["out\n", "err\n"]);
    expect([exit.code, exit.signal]).toEqual([3, null]);
  });

  it("the signal that killed it", async () => {
    const { exit } = await collect(await guest.session.exec(shell("kill -9 $$")));
    expect([exit.code, exit.signal]).toEqual([null, 9]);
  });

  it.each([
    ["a name that is no command", command("no-such-command"), "command_not_found"],
    ["a file that is not executable", command("/etc/passwd"), "command_not_executable"],
    ["a working directory that is not there", { ...command("true"), cwd: "/no/such" }, "bad_workdir"],
    ["a user that is not there", { ...command("true"), user: "no-such-user" }, "bad_user"],
  ])("%s", async (_name, request, code) => {
    const exec = await guest.session.exec(request);
    await expect(exec.opened).rejects.toMatchObject({ code });
    await expect(exec.exited).rejects.toMatchObject({ code });
  });

  it("many at once keep their own output", async () => {
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, at) => collect(await guest.session.exec(shell(`echo ${at}; exit ${at}`)))),
    );
    expect(results.map(({ exit, texts }) => [exit.code, texts[0]])).toEqual(
      Array.from({ length: 30 }, (_, at) => [at, `${at}\n`]),
    );
  });

  it("CLOSE kills the tree and still tells how it ended", async () => {
    const exec = await guest.session.exec(shell("echo up; setsid sleep 1000 & sleep 1000"));
    const sink = new StuckSink();
    exec.onOutput(1, sink);
    exec.onOutput(2, new CollectingSink());
    await sink.nextOffer();
    exec.close();
    expect((await exec.exited).signal).toBe(9);
  });

  it("a terminal: its size, its echo, resize", async () => {
    const exec = await guest.session.exec({
      ...shell("stty size; read line; stty size; echo got $line"),
      tty: { cols: 81, rows: 25 },
    });
    const sink = new CollectingSink();
    let resized = false;
    exec.onOutput(1, {
      write: (chunk, done) => {
        sink.write(chunk, done);
        if (resized || !String(sink.bytes).includes("25 81")) return;
        resized = true;
        exec.resize({ cols: 100, rows: 40 });
        exec.writeStdin(Buffer.from("word\n"));
      },
      end: (error) => sink.end(error),
    });
    expect((await exec.exited).code).toBe(0);
    await sink.ended;
    expect(String(sink.bytes)).toBe("25 81\r\nword\r\n40 100\r\ngot word\r\n");
  });
});

describe("streams", () => {
  it("50 MB of binary input through cat come back as they were", async () => {
    const exec = await guest.session.exec({ ...command("cat"), stdin: true });
    const [sent, received] = [createHash("sha256"), createHash("sha256")];
    let bytes = 0;
    const ended = new Promise<void>((resolve) => {
      exec.onOutput(1, {
        write: (chunk, done) => {
          bytes += chunk.length;
          received.update(chunk);
          done();
        },
        end: () => resolve(),
      });
    });
    const chunk = Buffer.alloc(1_000_000);
    for (let i = 0; i < 50; i++) {
      randomFillSync(chunk);
      sent.update(chunk);
      const drained = new Promise<void>((resolve) => exec.onDrain(resolve));
      if (!exec.writeStdin(Buffer.from(chunk))) await drained;
    }
    exec.endStdin();
    expect((await exec.exited).code).toBe(0);
    await ended;
    expect(bytes).toBe(50_000_000);
    expect(received.digest("hex")).toBe(sent.digest("hex"));
  }, 60_000);

  it("G2: 200 MB against a sink that takes nothing stay in the sandbox, then all of them arrive", async () => {
    const windowBytes = 1_048_576;
    const exec = await guest.session.exec(shell("head -c 200000000 /dev/zero; echo done >&2"));
    const sink = new StuckSink();
    exec.onOutput(1, sink);
    exec.onOutput(2, new CollectingSink());
    // Offered is the whole window, or as many writes as a sink may have open, whichever comes first.
    while (sink.offeredBytes < windowBytes && sink.offers < MAX_WRITES_IN_FLIGHT) await sink.nextOffer();
    const before = process.memoryUsage();
    // Other work goes on meanwhile: the stalled command holds nothing but its own window.
    for (let i = 0; i < 20; i++) await collect(await guest.session.exec(command("true")));
    const after = process.memoryUsage();
    expect(sink.offeredBytes).toBeLessThanOrEqual(windowBytes);
    expect(sink.isEnded).toBe(false);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * 2 ** 20);
    sink.release();
    expect((await exec.exited).code).toBe(0);
    await sink.ended;
    expect(sink.offeredBytes).toBe(200_000_000);
  }, 60_000);
});

describe("files", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "agentkernel-files-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("written, read, listed, renamed and removed", async () => {
    const { files } = guest.session;
    const content = randomFillSync(Buffer.alloc(3_000_000));
    const path = join(folder, "sub", "f");
    expect(await files.writeFile(path, content, { mode: 0o600, parents: true })).toEqual({ sizeBytes: 3_000_000 });
    expect((await files.readFile(path, 3_000_000)).equals(content)).toBe(true);
    const part = await files.readFile(path, 100, { offsetBytes: 10, limitBytes: 100 });
    expect(part.equals(content.subarray(10, 110))).toBe(true);
    expect(await files.stat(path)).toMatchObject({ type: "file", sizeBytes: 3_000_000, target: null });
    const { entries, truncated } = await files.list(join(folder, "sub"));
    expect([entries.map((entry) => entry.name), truncated]).toEqual([["f"], false]);
    await files.mkdir(join(folder, "other"));
    await files.rename(path, join(folder, "other", "g"));
    await files.remove(join(folder, "other"), { recursive: true });
    await expect(files.stat(join(folder, "other"))).rejects.toMatchObject({
      code: "file_error",
      details: { code: "not_found" },
    });
  });

  it("a large file left in the middle does not disturb the session", async () => {
    const { files } = guest.session;
    const path = join(folder, "large");
    await files.writeFile(path, Buffer.alloc(20_000_000));
    await expect(files.readFile(path, 1000)).rejects.toMatchObject({ details: { code: "too_large" } });
    expect(await files.stat(path)).toMatchObject({ sizeBytes: 20_000_000 });
    expect(guest.session.failure).toBeNull();
  });
});

describe("the end", () => {
  it("SHUTDOWN ends the guest and is no failure", async () => {
    await guest.session.ready;
    guest.session.shutdown(1000);
    expect(await guest.session.ended).toBeNull();
    await guest.exited;
  });

  it("a guest that is killed: the command's sandbox died", async () => {
    const exec = await guest.session.exec(command("sleep", "1000"));
    await exec.opened;
    guest.child.kill("SIGKILL");
    await expect(exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
  });
});
