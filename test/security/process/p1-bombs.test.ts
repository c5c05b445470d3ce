import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { holdRun, layerState, type RunAnswer, runForAnswer } from "../support/process-answers.js";
import { marked, untilNoneMarked } from "../support/process-marks.js";
import { compile, own, projectWith, runOutside } from "../support/process-programs.js";

const EAGAIN = 11;
const ENOMEM = 12;
const EMFILE = 24;
const ENOSPC = 28;
const MIB = 1 << 20;
const LIMITS = ["--memory", "64m", "--pids", "32", "--open-files", "100"];

interface Taken {
  readonly amount: number;
  readonly errno: number;
}

function taken(stdout: string): Taken {
  const [, amount, errno] = /^\w+ (\d+) (\d+)$/m.exec(stdout) ?? [];
  if (amount === undefined) throw new Error(`the bomb did not say what it got: ${stdout}`);
  return { amount: Number(amount), errno: Number(errno) };
}

async function outside(actor: Actor, kind: string, amount: number, path = ""): Promise<Taken> {
  return taken((await runOutside(actor, [compile("process/bombs"), kind, String(amount), path])).stdout);
}

async function inside(actor: Actor, words: readonly string[], more: readonly string[] = []): Promise<RunAnswer> {
  return await runForAnswer(actor, [...LIMITS, ...more, "./bombs", ...words], {
    cwd: projectWith(actor, "process/bombs"),
  });
}

describe("P1 bombs that take all processes, threads, descriptors, memory or processor time", () => {
  describe.each(actors)("as $name", (actor) => {
    let hasCgroup = false;
    beforeAll(async () => {
      hasCgroup = (await layerState(actor, "cgroup")) === "applied";
    });

    it("has a cgroup as root, and says what is missing where there is none", async () => {
      const { layers } = await runForAnswer(actor, ["true"]);
      const cgroup = layers.find((layer) => layer.name === "cgroup");
      if (actor.name === "root") expect(cgroup).toEqual({ name: "cgroup", state: "applied" });
      if (cgroup?.state !== "applied") {
        expect(cgroup?.state).toBe("absent");
        expect(cgroup?.detail).toMatch(/memory is limited for each process, not in all; no cpu limit/);
      }
    });

    it.each(["fork", "thread"])(
      "%s: the limit hits inside while another sandbox and the host work on",
      async (kind) => {
        expect(await outside(actor, kind, 120)).toEqual({ amount: 120, errno: 0 });
        // A kernel of its own needs room for each of them too; memory is another test's matter.
        const words = ["--memory", "512m", "--pids", "32", "./bombs", kind, "120"];
        const bomb = holdRun(actor, words, { cwd: projectWith(actor, "process/bombs") });
        await bomb.saw(/\n/);
        const other = await runIn(actor, ["--pids", "32", "sh", "-c", "true & true & wait; echo alive"]);
        expect(other).toMatchObject({ status: 0, stdout: "alive\n" });
        expect((await runOutside(actor, ["sh", "-c", "true & true & wait; echo alive"])).stdout).toBe("alive\n");
        const { amount, errno } = taken((await bomb.release()).stdout);
        expect(errno).toBe(EAGAIN);
        // The guest and what it keeps for itself count too.
        expect(amount).toBeGreaterThan(20);
        expect(amount).toBeLessThan(32);
      },
    );

    it("a fork bomb that never stops trying ends with the time limit, all of it", async () => {
      const mark = marked();
      const project = projectWith(actor, "process/bombs");
      const words = ["--pids", "32", "--timeout", "700ms", "./bombs", "swarm", "120", mark];
      const bomb = holdRun(actor, words, { cwd: project });
      await bomb.saw(/swarm/);
      expect(await runIn(actor, ["echo", "alive"])).toMatchObject({ status: 0, stdout: "alive\n" });
      expect((await bomb.ended()).status).toBe(124);
      expect(await untilNoneMarked(mark)).toEqual([]);
    });

    it("descriptors run out inside only", async () => {
      expect((await outside(actor, "fd", 400)).amount).toBe(400);
      const { amount, errno } = taken((await inside(actor, ["fd", "400"])).stdout);
      expect(errno).toBe(EMFILE);
      expect(amount).toBeLessThan(100);
      // The limit cannot be raised again.
      const script = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (4096, 4096))";
      expect((await runIn(actor, ["--open-files", "100", "python3", "-c", script])).status).toBe(1);
    });

    it("anonymous memory", async () => {
      expect((await outside(actor, "anon", 160)).amount).toBe(160);
      const answer = await inside(actor, ["anon", "160"]);
      if (hasCgroup) {
        expect(answer).toMatchObject({ exit_code: 137, usage: { oom_kills: 1 } });
        expect(answer.usage.memory_peak_bytes).toBeLessThanOrEqual(64 * MIB);
      } else {
        expect(taken(answer.stdout)).toMatchObject({ errno: ENOMEM });
        expect(taken(answer.stdout).amount).toBeLessThan(64);
      }
    });

    it("the disk of the sandbox, which is memory too", async () => {
      expect((await outside(actor, "file", 100, join(actor.folder(), "big"))).amount).toBe(100);
      const { amount, errno } = taken((await inside(actor, ["file", "100", "/workspace/big"])).stdout);
      expect(errno).toBe(ENOSPC);
      expect(amount).toBeLessThan(64);
    });

    it.each(["/tmp/big", "/dev/shm/big"])("files in memory: %s", async (path) => {
      expect((await outside(actor, "file", 100, join(actor.folder(), "big"))).amount).toBe(100);
      // A quarter of the memory limit each.
      expect(taken((await inside(actor, ["file", "400", path])).stdout)).toEqual({ amount: 16, errno: ENOSPC });
    });

    it("memfd files", async () => {
      expect((await outside(actor, "memfd", 160)).amount).toBe(160);
      const answer = await inside(actor, ["memfd", "160"]);
      if (hasCgroup) {
        expect(answer).toMatchObject({ exit_code: 137, usage: { oom_kills: 1 } });
      } else {
        // Nothing but a cgroup limits these. The sandbox must say that its memory limit is not a whole one.
        expect(taken(answer.stdout)).toEqual({ amount: 160, errno: 0 });
        expect(answer.layers).toContainEqual(expect.objectContaining({ name: "cgroup", state: "absent" }));
      }
    });

    it("reading far more than its memory through the page cache neither fails nor grows it", async () => {
      const project = actor.folder();
      const big = join(project, "big");
      writeFileSync(big, "x");
      truncateSync(own(actor, big), 200 * MIB);
      const answer = await runForAnswer(actor, [...LIMITS, "sh", "-c", "wc -c < big"], { cwd: project });
      expect(answer).toMatchObject({ exit_code: 0, stdout: `${200 * MIB}\n` });
      if (hasCgroup) expect(answer.usage.memory_peak_bytes).toBeLessThanOrEqual(64 * MIB);
    });

    it("processor time", async () => {
      const wallMs = 600;
      const answer = await inside(actor, ["spin", String(wallMs)], ["--vcpus", "0.25"]);
      if (!hasCgroup) {
        // Only a cgroup limits it, and the sandbox says that it has none.
        expect(answer.layers.find((layer) => layer.name === "cgroup")?.detail).toContain("no cpu limit");
        return;
      }
      const limited = taken(answer.stdout);
      expect(limited.amount).toBeLessThan(wallMs * 0.25 * 2);
      expect(answer.usage.cpu_us).toBeLessThan(wallMs * 1000 * 0.25 * 2);
      // A busy machine may give it little more outside, but not each time.
      const free = async () => (await outside(actor, "spin", wallMs)).amount;
      await expect.poll(free).toBeGreaterThan(limited.amount * 1.3);
    });

    it("an id range multiplies the number of processes only where no cgroup holds it, which is said", async () => {
      const answer = await runForAnswer(actor, ["--pids", "32", "--user", "0", "python3", "-c", MANY_IDS]);
      const cgroup = answer.layers.find((layer) => layer.name === "cgroup");
      if (hasCgroup) expect(Number(answer.stdout)).toBeLessThan(32);
      else if (Number(answer.stdout) >= 32) expect(cgroup?.detail).toContain("processes for each id, not in all");
    });
  });
});

/** Five processes under each of thirty ids; prints how many there were. */
const MANY_IDS = `
import os, signal
made = 0
for uid in range(30):
    r, w = os.pipe()
    try: child = os.fork()
    except OSError: break
    if child == 0:
        os.setgid(uid); os.setuid(uid)
        got = 1
        for _ in range(4):
            try:
                if os.fork() == 0: signal.pause()
                got += 1
            except OSError: break
        os.write(w, bytes([got])); signal.pause()
    os.close(w)
    made += os.read(r, 1)[0]
print(made)
`;
