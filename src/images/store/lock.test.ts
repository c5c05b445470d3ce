import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { lockReleased, tryLock, waitForLock } from "./lock.js";
import { ownerState, ownMark } from "./owner.js";

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

describe("a mark", () => {
  it("tells whether its process still runs", async () => {
    const own = await ownMark();
    expect(await ownerState(own)).toBe("alive");
    const child = await holder(freshName());
    const [boot, namespace] = own.split("-");
    const stat = await import("node:fs/promises").then(({ readFile }) => readFile(`/proc/${child.pid}/stat`, "utf8"));
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    const mark = [boot, namespace, child.pid, start].join("-");
    expect(await ownerState(mark)).toBe("alive");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await ownerState(mark)).toBe("dead");
  });

  it("is not fooled by a number that came again, by another boot, or by nonsense", async () => {
    const [boot, namespace, pid, start] = (await ownMark()).split("-");
    expect(await ownerState([boot, namespace, pid, `${start}1`].join("-"))).toBe("dead");
    expect(await ownerState(["00", namespace, pid, start].join("-"))).toBe("dead");
    expect(await ownerState("nonsense")).toBe("dead");
    expect(await ownerState([boot, `${namespace}1`, pid, start].join("-"))).toBe("unknown");
  });
});
