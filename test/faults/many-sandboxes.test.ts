import { describe, expect, it } from "vitest";
import { Subject } from "../contract/suite/subject.js";
import { actors } from "../support/actors.js";
import { leaksSince, traces } from "../support/leaks.js";
import { linuxBackendOf } from "../support/linux-backend.js";
import { runIn } from "../support/run-cli.js";

describe.each(actors)("as $name", (actor) => {
  it("two hundred sandboxes one after another leave nothing behind", async () => {
    const before = traces();
    const backend = linuxBackendOf(actor);
    const openFiles = process.getActiveResourcesInfo().length;
    for (let at = 0; at < 200; at++) {
      const sandbox = await Subject.boot(backend);
      expect(await sandbox.sh(`(setsid sleep 4102 > /dev/null 2>&1 &); echo ${at}`)).toMatchObject({
        code: 0,
        stdout: `${at}\n`,
      });
      await (at % 2 === 0 ? sandbox.finish() : sandbox.kill());
    }
    expect(await leaksSince(before)).toEqual([]);
    expect(process.getActiveResourcesInfo().length).toBeLessThan(openFiles + 10);
  });

  it("fifty runs at once neither disturb each other nor leave anything behind", async () => {
    const before = traces();
    const runs = Array.from({ length: 50 }, (_, at) =>
      runIn(
        actor,
        ["--workspace", "none", "sh", "-c", `(setsid sleep 4103 > /dev/null 2>&1 &); cat; echo ${at}; exit ${at}`],
        {
          stdin: `in ${at}\n`,
        },
      ),
    );
    (await Promise.all(runs)).forEach((result, at) => {
      expect(result).toMatchObject({ status: at, stdout: `in ${at}\n${at}\n` });
    });
    expect(await leaksSince(before)).toEqual([]);
  });
});
