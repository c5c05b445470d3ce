import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { compile, projectWith, runOutside } from "../support/process-programs.js";

const EPERM = 1;
const ENOSYS = 38;

/** The filter answers these with ENOSYS, as if the kernel were older or built without the other tables. */
const ABSENT = /^(clone3|newer:|x32:|i386:)/;

/**
 * What the kernel itself refuses outside with the same answer as the filter inside, so that the comparison says
 * nothing: calls that this kernel does not have, and what an ordinary user never may, not even in own namespaces.
 */
const SAME_OUTSIDE: Readonly<Record<Actor["name"], readonly RegExp[]>> = {
  root: [/^x32:/, /^newer:47\d$/],
  user: [/^x32:/, /^newer:47\d$/, /^(swapoff|acct|fanotify_init|syslog)$/],
};

type Answers = ReadonlyMap<string, number>;

function answers(stdout: string): Answers {
  const lines = stdout.trim().split("\n");
  return new Map(lines.map((line): [string, number] => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

/** Outside, in namespaces that end with the program: nothing of the host can change, whatever succeeds. */
async function outside(actor: Actor): Promise<Answers> {
  const apart = ["--mount", "--uts", "--ipc", "--net", "--pid", "--fork"];
  if (actor.name === "user") apart.push("--user", "--map-root-user");
  const ran = await runOutside(actor, ["unshare", ...apart, compile("process/syscalls")]);
  expect(ran).toMatchObject({ status: 0, stderr: "" });
  return answers(ran.stdout);
}

async function inside(actor: Actor, ...options: readonly string[]): Promise<Answers> {
  const ran = await runIn(actor, [...options, "./syscalls"], { cwd: projectWith(actor, "process/syscalls") });
  expect(ran).toMatchObject({ status: 0 });
  return answers(ran.stdout);
}

function isStrict(name: string): boolean {
  return name.startsWith("strict:");
}

describe("P4 system calls that change the kernel, mounts or namespaces", () => {
  describe.each(actors)("as $name", (actor) => {
    it("reach the kernel outside", async () => {
      const unreached = [...(await outside(actor))]
        .filter(([name, errno]) => errno === (ABSENT.test(name) ? ENOSYS : EPERM))
        .map(([name]) => name)
        .filter((name) => !SAME_OUTSIDE[actor.name].some((pattern) => pattern.test(name)));
      expect(unreached).toEqual([]);
    });

    it.each([
      ["by default", []],
      ["with a live project", ["--workspace", "mount"]],
      ["as another user", actor.name === "root" ? ["--user", "1000:1000"] : ["--profile", "restrictive"]],
    ])("are all answered by the filter inside, %s", async (_how, options) => {
      const all = await inside(actor, ...options);
      const forbidden = [...all].filter(([name]) => !isStrict(name));
      const wrong = forbidden.filter(([name, errno]) => errno !== (ABSENT.test(name) ? ENOSYS : EPERM));
      expect(wrong).toEqual([]);
      expect(forbidden.length).toBeGreaterThan(75);
    });

    it("clone3 does not exist, so that programs fall back to a call that the filter can look into", async () => {
      const all = await inside(actor);
      expect([all.get("clone3"), all.get("clone3:plain")]).toEqual([ENOSYS, ENOSYS]);
      expect((await outside(actor)).get("clone3:plain")).toBe(0);
    });

    it("the strict list also ends tracing and chroot, which the default one leaves to debuggers", async () => {
      const names = (all: Answers) => [...all].filter(([name]) => isStrict(name));
      expect(names(await inside(actor)).every(([, errno]) => errno !== EPERM)).toBe(true);
      const strict = names(await inside(actor, "--profile", "restrictive"));
      expect(strict.length).toBe(4);
      expect(strict.every(([, errno]) => errno === EPERM)).toBe(true);
    });

    it("a filter that a command adds for itself does not loosen ours", async () => {
      const script = "import ctypes; l=ctypes.CDLL(None,use_errno=True); l.prctl(38,1,0,0,0); print(l.prctl(22,0,0))";
      const ran = await runIn(actor, ["python3", "-c", `${script}; print(open('/proc/self/status').read())`]);
      // Filters can only be added: mode 0, "no filter", is refused and the mode stays 2.
      expect(ran.stdout).toMatch(/^-1\n/);
      expect(ran.stdout).toMatch(/^Seccomp:\t2$/m);
      expect(ran.stdout).toMatch(/^NoNewPrivs:\t1$/m);
    });
  });
});
