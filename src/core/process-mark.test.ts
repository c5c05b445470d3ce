import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { holderState, markOf, ownMark, processMark, processOf } from "./process-mark.js";

describe("a mark", () => {
  it("tells whether its process runs, is stopped or is gone", async () => {
    expect(holderState(ownMark())).toBe("running");
    const child = spawn("sleep", ["1000"]);
    await once(child, "spawn");
    const [boot, namespace] = ownMark().split("-");
    const stat = () => readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    const mark = [boot, namespace, child.pid, stat()[19]].join("-");
    expect(markOf(child.pid ?? 0)).toBe(mark);
    expect(holderState(mark)).toBe("running");
    expect(processOf(mark)).toBe(child.pid);
    child.kill("SIGSTOP");
    await expect.poll(() => stat()[0]).toBe("T");
    expect(holderState(mark)).toBe("stopped");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(holderState(mark)).toBe("dead");
    expect(markOf(child.pid ?? 0)).toBeNull();
  });

  it("of one holder is not that of another in the same process, and both run", () => {
    const [one, other] = [processMark(), processMark()];
    expect(one.text).not.toBe(other.text);
    expect([holderState(one.text), holderState(other.text, one)]).toEqual(["running", "running"]);
  });

  it("is not fooled by a number that came again, by another boot, or by nonsense", () => {
    const [boot, namespace, pid, start] = ownMark().split("-");
    expect(holderState([boot, namespace, pid, `${start}1`].join("-"))).toBe("dead");
    expect(holderState(["00", namespace, pid, start].join("-"))).toBe("dead");
    expect(holderState("nonsense")).toBe("dead");
    expect(holderState([boot, `${namespace}1`, pid, start].join("-"))).toBe("unknown");
  });
});
