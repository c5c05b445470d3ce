/** Birth and death. After every test of the suite nothing may be left; these are the ways to die. */
import { expect } from "vitest";
import { TemporarySandbox } from "../../../src/runtime/temporary-sandbox.js";
import type { Contract } from "./contract.js";
import { bootSpec, Subject } from "./subject.js";

export function lifecycleContract(contract: Contract): void {
  const { backend } = contract;

  contract.capability("cleanup", (test) => {
    test("every wall is named, and stands or says what is missing", async () => {
      await contract.sandbox({}, async ({ layers }) => {
        expect(layers.length).toBeGreaterThan(0);
        for (const layer of layers) expect(layer.state === "applied" || (layer.detail ?? "") !== "").toBe(true);
      });
    });

    test("ending it twice, or both ways, is ending it once", async () => {
      const sandbox = await Subject.boot(backend);
      const ends = await Promise.all([sandbox.finish(), sandbox.kill(), sandbox.finish()]);
      expect(new Set(ends.map((end) => JSON.stringify(end))).size).toBe(1);
      expect(await sandbox.ended).toEqual(ends[0]);
    });

    test("with its end, whatever waits for a command in it gets an error", async () => {
      const sandbox = await Subject.boot(backend);
      const command = await sandbox.start(["sleep", "4008"]);
      await command.exec.opened;
      await sandbox.kill();
      await expect(command.exec.exited).rejects.toMatchObject({ code: "sandbox_died" });
      await expect(sandbox.start(["true"])).rejects.toMatchObject({ code: "sandbox_died" });
    });

    test("a guest whose host has gone away ends by itself", async () => {
      const booted = await backend.boot(bootSpec({}));
      booted.stream.destroy();
      await booted.ended;
    });

    test("a start that is given up leaves nothing behind", async () => {
      for (const afterMs of [null, 0, 1, 2, 4, 8]) {
        const abort = new AbortController();
        if (afterMs === null) abort.abort(new Error("given up"));
        else setTimeout(() => abort.abort(new Error("given up")), afterMs);
        // It may have been quicker than the signal; then it is there and has to be ended.
        await backend.boot(bootSpec({}), abort.signal).then(
          (booted) => booted.kill(),
          (error: unknown) => expect(error).toMatchObject({ message: "given up" }),
        );
      }
    });

    test("a project folder that is not there is a clear error", async () => {
      const projectDir = `${contract.actor.home}/no-such-project`;
      await expect(backend.boot(bootSpec({ projectDir }))).rejects.toMatchObject({
        message: expect.stringContaining("no-such-project"),
      });
    });

    test("the runtime's temporary sandbox serves its command and is gone", async () => {
      const sandbox = await TemporarySandbox.start(backend, bootSpec({}));
      const exec = await sandbox.exec({ argv: ["true"], cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdin: false });
      expect(await exec.exited).toMatchObject({ code: 0 });
      await sandbox.finish();
      await sandbox.ended;
    });

    test("its host name is its id", async () => {
      const spec = bootSpec({});
      const sandbox = await TemporarySandbox.start(backend, spec);
      const exec = await sandbox.exec({
        argv: ["cat", "/proc/sys/kernel/hostname"],
        cwd: "/",
        env: { PATH: "/usr/bin:/bin" },
        stdin: false,
      });
      const said = await new Promise<string>((resolve) => {
        let text = "";
        exec.onOutput(1, {
          write: (chunk, done) => {
            text += String(chunk);
            done();
          },
          end: () => resolve(text),
        });
      });
      await sandbox.kill();
      expect(said).toBe(`${spec.hostname}\n`);
    });
  });
}
