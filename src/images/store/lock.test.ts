import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { lockReleased, tryLock, waitForLock } from "./lock.js";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const freshName = (): string => `agentkernel-test-${randomBytes(8).toString("hex")}`;

/** Another process that holds the lock until it dies. */
async function holder(name: string): Promise<ChildProcess> {
  const script = `require("net").createServer().listen({ path: "\\0" + process.argv[1] }, () => console.log("held"))`;
  const child = spawn(process.execPath, ["-e", script, name], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

describe("a lock", () => {
  it("has one holder at a time, also within a process", async () => {
    const name = freshName();
    const first = await tryLock(name);
    expect(await tryLock(name)).toBeNull();
    await first?.release();
    const second = await tryLock(name);
    expect(second).not.toBeNull();
    await second?.release();
  });

  it("is free again when its holder was killed", async () => {
    const name = freshName();
    const child = await holder(name);
    expect(await tryLock(name)).toBeNull();
    const waiting = waitForLock(name, 20_000);
    child.kill("SIGKILL");
    const held = await waiting;
    expect(held).not.toBeNull();
    await held?.release();
  });

  it("goes to all who wait, one after the other", async () => {
    const name = freshName();
    let inside = 0;
    let most = 0;
    const use = async (): Promise<void> => {
      const held = await waitForLock(name, 20_000);
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      await held?.release();
    };
    await Promise.all(Array.from({ length: 8 }, use));
    expect(most).toBe(1);
  });

  it("is not waited for longer than asked, nor after the caller called it off", async () => {
    const name = freshName();
    const held = await tryLock(name);
    expect(await waitForLock(name, 10)).toBeNull();
    const stop = new AbortController();
    const waiting = lockReleased(name, 60_000, stop.signal);
    stop.abort(new Error("called off"));
    await expect(waiting).rejects.toThrow("called off");
    await held?.release();
  });
});
