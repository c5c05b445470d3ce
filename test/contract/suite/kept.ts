/** Sandboxes that outlive their owner: who owns one, what goes on without an owner, and what is left after an end. */
import { expect } from "vitest";
import { OwnerProcess } from "../../support/owner-process.js";
import { killNow } from "../../support/process-tree.js";
import { makeProject } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { adoptPersistent, inStateFolder, Owned, startPersistent, supervisorOf } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

const LINES = 30_000;
/** What a command writes that counts its lines. */
const counting = `i=0; while [ $i -lt ${LINES} ]; do echo line $i; i=$((i+1)); done`;
const counted = Array.from({ length: LINES }, (_, line) => `line ${line}\n`).join("");

export function keptContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  if (kept === undefined) return;
  const within = <T>(use: (folder: string) => Promise<T>) => {
    const folder = actor.ownFolder("state");
    return inStateFolder(kept, folder, () => use(folder));
  };

  contract.capability("kept", (test) => {
    test("it starts, serves commands, and ends in order", async () => {
      await within(async (folder) => {
        expect(await kept.adopt(folder)).toBeNull();
        const owned = await startPersistent(kept, bootSpec({}), folder);
        expect(await owned.sh("echo here; exit 3")).toMatchObject({ stdout: "here\n", code: 3 });
        const trapped = await owned.start(["sh", "-c", "trap 'exit 9' TERM; echo ready; read go"], { stdin: true });
        await trapped.until(/ready/);
        const end = await owned.sandbox.stop(10_000);
        expect(end).toMatchObject({ code: 0, signal: null });
        expect(await trapped.ran()).toMatchObject({ code: 9 });
        expect(await owned.sandbox.over).toEqual({ how: "ended", end });
        expect(await kept.lastEnd(folder)).toMatchObject({ lost: false, end: { code: 0 } });
        expect(await kept.adopt(folder)).toBeNull();
      });
    });

    test("kill -9 of its owner: the command goes on, and none of its output is lost", async () => {
      await within(async (folder) => {
        const owner = new OwnerProcess({
          programs: contract.programs,
          spec: bootSpec({}),
          stateDir: folder,
          key: "work",
          script: `${counting}; read go; echo end; exit 7`,
        });
        await owner.until(/line 3000\n/);
        await owner.kill();
        const owned = await adoptPersistent(kept, folder);
        const { stdout, exit } = await owned.kept("work");
        expect(exit).toBeNull();
        expect(stdout.acked).toBeLessThanOrEqual(owner.output.length);
        const command = await owned.attach("work", { stdout: stdout.acked });
        command.type("go\n");
        expect(await command.ran()).toMatchObject({ stdout: `${counted}end\n`.slice(stdout.acked), code: 7 });
        await owned.session.forget("work");
        await owned.reconnect();
        expect((await owned.session.ready).execs).toEqual([]);
      });
    });

    test("an end that nobody heard of is told to the next owner, with what was written last", async () => {
      await within(async (folder) => {
        const first = await startPersistent(kept, bootSpec({}), folder);
        const command = await first.start(["sh", "-c", "echo a; read go; echo b; exit 5"], { key: "k", stdin: true });
        await command.until(/a\n/);
        command.exec.endStdin();
        first.sandbox.release();
        expect(await first.sandbox.over).toEqual({ how: "released" });
        const second = await adoptPersistent(kept, folder);
        expect(await (await second.attach("k", { stdout: 0 })).ran()).toMatchObject({ stdout: "a\nb\n", code: 5 });
        second.sandbox.release();
        const third = await adoptPersistent(kept, folder);
        expect((await third.kept("k")).exit).toMatchObject({ code: 5 });
      });
    });

    test("what has no key ends with its owner's connection", async () => {
      await within(async (folder) => {
        const owned = await startPersistent(kept, bootSpec({}), folder);
        const command = await owned.start(["sh", "-c", "echo $$ > /tmp/pid; echo here; exec sleep 4201"]);
        await command.until(/here/);
        await owned.reconnect();
        await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
        await expect.poll(async () => (await owned.sh("kill -0 $(cat /tmp/pid)")).code).toBe(1);
      });
    });

    test("of two owners the later one has it, and the earlier one is told", async () => {
      await within(async (folder) => {
        const first = await startPersistent(kept, bootSpec({}), folder);
        const adopted = await Promise.all([kept.adopt(folder), kept.adopt(folder)]);
        const owners = adopted.filter((sandbox) => sandbox !== null);
        expect(await first.sandbox.over).toEqual({ how: "replaced" });
        const open = Symbol("still the owner");
        const states = await Promise.all(
          owners.map(({ over }) => Promise.race([over, new Promise((resolve) => setTimeout(resolve, 200, open))])),
        );
        expect(states.filter((state) => state === open)).toHaveLength(1);
        expect(states.filter((state) => state !== open)).toEqual(owners.slice(1).map(() => ({ how: "replaced" })));
        const winner = owners[states.indexOf(open)];
        if (winner === undefined) throw new Error("nobody has it");
        const owned = await Owned.of(winner);
        expect(await owned.sh("echo mine")).toMatchObject({ stdout: "mine\n" });
        // One that was replaced gets no stream, and does not disturb the one that has it.
        for (const loser of [first.sandbox, ...owners.filter((owner) => owner !== winner)]) {
          const stream = await loser.connect();
          await new Promise((resolve) => stream.once("close", resolve).resume());
          await expect(loser.kill()).rejects.toMatchObject({ code: "conflict" });
        }
        expect(await owned.sh("echo still mine")).toMatchObject({ stdout: "still mine\n" });
      });
    });

    test("its root and its copy of the project are as they were after a stop and another start", async () => {
      const project = makeProject(actor, { "a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n" });
      const before = project.content();
      await within(async (folder) => {
        const spec = bootSpec({ projectDir: project.path });
        const first = await startPersistent(kept, spec, folder);
        const made = await first.sh(
          "echo root > /opt/file; mkdir /data; echo new > new.txt; echo changed > a.txt; rm b.txt; rm -r sub; mkdir sub; ln -s new.txt link; chmod 751 new.txt; echo gone > /tmp/file",
          { cwd: "/workspace" },
        );
        expect(made).toMatchObject({ stderr: "", code: 0 });
        await first.sandbox.stop(1000);
        const second = await startPersistent(kept, spec, folder);
        const found = await second.sh(
          "cat /opt/file new.txt a.txt; cd /data && pwd && cd - >/dev/null; ls; ls sub; readlink link; find new.txt -printf '%m\\n'; cat /tmp/file",
          { cwd: "/workspace" },
        );
        expect(found.stdout).toBe("root\nnew\nchanged\n/data\na.txt\nlink\nnew.txt\nsub\nnew.txt\n751\n");
        expect(found.stderr).toMatch(/No such file/);
        expect(project.content()).toEqual(before);
      });
    });

    contract.withSupervisor(test)(
      "kill -9 of the process that owns it on the host: everything dies, and the next start works",
      async () => {
        await within(async (folder) => {
          const first = await startPersistent(kept, bootSpec({}), folder);
          // What has a kernel of its own may have written it to that kernel's memory only.
          await first.sh("echo kept > /opt/file; sync; (setsid sleep 4202 >/dev/null 2>&1 &)");
          killNow(supervisorOf(folder));
          expect(await first.sandbox.over).toEqual({ how: "lost" });
          expect(await kept.lastEnd(folder)).toMatchObject({ lost: true });
          expect(await kept.adopt(folder)).toBeNull();
          const second = await startPersistent(kept, bootSpec({}), folder);
          expect(await second.sh("cat /opt/file")).toMatchObject({ stdout: "kept\n" });
        });
      },
    );

    test("kill -9 of its first process is told to its owner", async () => {
      await within(async (folder) => {
        const owned = await startPersistent(kept, bootSpec({}), folder);
        killNow(await contract.guestOf(folder));
        expect(await owned.sandbox.over).toMatchObject({ how: "ended", end: { code: null, signal: 9 } });
        expect(await kept.lastEnd(folder)).toMatchObject({ lost: false, end: { signal: 9 } });
        expect(await kept.adopt(folder)).toBeNull();
      });
    });

    test("where one runs, another can be neither started nor removed", async () => {
      await within(async (folder) => {
        const owned = await startPersistent(kept, bootSpec({}), folder);
        await expect(kept.start(bootSpec({}), folder)).rejects.toMatchObject({ code: "conflict" });
        await expect(kept.remove(folder)).rejects.toMatchObject({ code: "conflict" });
        expect(await owned.sh("echo still here")).toMatchObject({ stdout: "still here\n" });
      });
    });

    test("a start that fails or is given up leaves nothing, and the next one works", async () => {
      await within(async (folder) => {
        const projectDir = `${actor.home}/no-such-project`;
        await expect(kept.start(bootSpec({ projectDir }), folder)).rejects.toMatchObject({
          message: expect.stringContaining("no-such-project"),
        });
        for (const afterMs of [0, 1, 2, 4, 8, 16]) {
          const abort = new AbortController();
          setTimeout(() => abort.abort(new Error("given up")), afterMs);
          await kept.start(bootSpec({}), folder, abort.signal).then(
            (sandbox) => sandbox.kill(),
            (error: unknown) => expect(error).toMatchObject({ message: "given up" }),
          );
          expect(await kept.adopt(folder)).toBeNull();
        }
        const owned = await startPersistent(kept, bootSpec({}), folder);
        expect(await owned.sh("echo works")).toMatchObject({ stdout: "works\n" });
      });
    });

    test("it says what it uses, as far as it can be known", async () => {
      await within(async (folder) => {
        const owned = await startPersistent(kept, bootSpec({}), folder);
        const { paused, usage } = await owned.sandbox.status();
        expect(paused).toBe(false);
        const isLimited = owned.sandbox.layers.some(
          ({ name, state }) => /^cgroup( around the machine)?$/.test(name) && state === "applied",
        );
        // With a kernel of its own, how many processes it has is known only there.
        const hasOwnKernel = owned.sandbox.layers.some(({ name }) => ["gvisor", "virtual machine"].includes(name));
        expect(usage.processes).toBe(isLimited && !hasOwnKernel ? 1 : null);
        expect(usage.memoryBytes === null).toBe(!isLimited);
        expect(owned.sandbox.startedAtMs).toBeGreaterThan(Date.now() - 60_000);
      });
    });
  });

  contract.capability("pause", (test) => {
    test("nothing in a paused sandbox moves, until it is resumed", async () => {
      await within(async (folder) => {
        const owned = await startPersistent(kept, bootSpec({}), folder);
        const command = await owned.start(["sh", "-c", "while echo tick; do sleep 0.01; done"]);
        await command.until(/tick/);
        await owned.sandbox.pause();
        expect(await owned.sandbox.status()).toMatchObject({ paused: true });
        const { usage } = await owned.sandbox.status();
        const asked = owned.sh("echo awake");
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect((await owned.sandbox.status()).usage.cpuUs).toBe(usage.cpuUs);
        await owned.sandbox.resume();
        expect(await asked).toMatchObject({ stdout: "awake\n" });
        expect(await owned.sandbox.status()).toMatchObject({ paused: false });
      });
    });

    test("a paused one can be adopted, stopped and killed", async () => {
      await within(async (folder) => {
        for (const end of ["stop", "kill"] as const) {
          const first = await kept.start(bootSpec({}), folder);
          await first.pause();
          const second = await kept.adopt(folder);
          expect(await second?.status()).toMatchObject({ paused: true });
          await (end === "stop" ? second?.stop(1000) : second?.kill());
          expect(await kept.adopt(folder)).toBeNull();
        }
      });
    });

    contract.withSupervisor(test)("a paused one whose supervisor is killed is lost", async () => {
      await within(async (folder) => {
        const third = await kept.start(bootSpec({}), folder);
        await third.pause();
        killNow(supervisorOf(folder));
        expect(await third.over).toEqual({ how: "lost" });
      });
    });
  });
}
