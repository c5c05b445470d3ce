import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

/** Each of them is a step of the sequence in which a program of ours gives up its rights. */
const steps = /\b(set_no_new_privs|install_seccomp|keep_capabilities|drop_from_bounding_set|restrict_self)\(/g;
/** The one function, and the calls of the kernel that it makes. */
const home = /^native\/jail\/src\/(walls\.rs|walls\/\w+\.rs|sys\.rs)$/;
/** It asks what this kernel has, in a process that runs nothing afterwards. */
const asking = /^native\/probe\//;

const stepsIn = (text: string) => [...text.matchAll(steps)].map(([, name]) => name);
const callsIn = (text: string) => [...text.matchAll(/\bwalls::raise\(|\braise\(&Walls\b/g)].length;

describe("the walls around a process", () => {
  const sources = filesUnder("native", ".rs").filter((path) => !/\/(target|\.build)\//.test(path));

  it("are raised by one function", () => {
    const elsewhere = sources.filter((path) => !home.test(path) && !asking.test(path));
    expect(elsewhere.filter((path) => stepsIn(readFileSync(path, "utf8")).length > 0)).toEqual([]);
    const within = sources.filter((path) => home.test(path)).flatMap((path) => stepsIn(readFileSync(path, "utf8")));
    expect(new Set(within).size).toBe(5);
  });

  it("are those of the guest, of a monitor, of a container's guest and of whatever unpacks images", () => {
    const callers = sources.filter((path) => !home.test(path) && callsIn(readFileSync(path, "utf8")) > 0);
    for (const caller of ["jail/src/child", "entry/src/guest", "unpack/src/jail"]) {
      expect(
        callers.some((path) => path.startsWith(`native/${caller}`)),
        caller,
      ).toBe(true);
    }
  });
});
