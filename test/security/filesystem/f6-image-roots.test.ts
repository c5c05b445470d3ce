/** Images whose root has something else where a sandbox puts things of its own, and whose configuration is hostile. */
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { ScriptedRegistry } from "../../support/registry-scripted.js";
import type { CliResult } from "../../support/run-cli.js";
import { busyboxTar, imageOf, TestStore } from "../../support/served-images.js";
import { file, folder, symlink, type TarItem, tarOf } from "../../support/tar-maker.js";
import { makeArea } from "../support/hostile-image.js";

let registry: ScriptedRegistry;
beforeAll(async () => {
  registry = await ScriptedRegistry.start();
});
afterAll(async () => registry.stop());

const fifo = (name: string): TarItem => ({ name, kind: "6", mode: 0o666 });

/** What a name can be instead of what it should be. */
const disguises = (name: string, canary: string): readonly TarItem[] => [
  symlink(name, canary),
  symlink(name, `${"../".repeat(12)}${canary.slice(1)}`),
  symlink(name, "/proc/1/root"),
  file(name, "a file"),
  fifo(name),
];

const ownThings = ["etc", "proc", "tmp", "dev", "workspace", "home", "root", "sys"];

/** Goes where the sandbox's own things are, and says how far it came. */
const use = [
  "cd /workspace && cat /etc/hostname >/dev/null && echo x >/tmp/x && : >/dev/null && cat /proc/self/stat >/dev/null",
  "cat inside && echo x >made && echo used",
].join(" && ");

let count = 0;

async function runRoot(
  store: TestStore,
  items: readonly TarItem[],
  words: readonly string[],
  config: Readonly<Record<string, unknown>> = {},
  cwd = store.actor.folder(),
): Promise<CliResult> {
  count += 1;
  registry.addImage("library/evil", String(count), imageOf({ tars: [busyboxTar(), tarOf(items)], config }));
  return await store.run(["--image", `evil:${count}`, ...words], { cwd });
}

function project(store: TestStore): string {
  const path = store.actor.folder();
  writeFileSync(join(path, "inside"), "the project's own\n");
  return path;
}

describe("F6 an image's root leads a sandbox nowhere", () => {
  it("links in a root lead out of it where nobody stops them", () => {
    const [actor] = actors;
    if (actor === undefined) return;
    const area = makeArea(actor);
    symlinkSync(area.canary, join(area.root, "etc"));
    writeFileSync(join(area.root, "etc", "hostname"), "attacked");
    expect(existsSync(join(area.canary, "hostname"))).toBe(true);
  });

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();

    it.each(ownThings)("with /%s as a link, a file or a pipe", async (name) => {
      const area = makeArea(actor);
      const before = area.snapshot();
      const store = new TestStore(actor, registry.host);
      for (const item of disguises(name, area.canary)) {
        const cwd = project(store);
        const { status, stdout, stderr } = await runRoot(store, [item], ["sh", "-c", use], {}, cwd);
        expect(stdout, stderr).toBe("the project's own\nused\n");
        expect(status).toBe(0);
        expect(existsSync(join(cwd, "made"))).toBe(false);
      }
      expect(area.snapshot()).toEqual(before);
    });

    it.each(["home", "root"])("with /%s as a link, a file or a pipe, where home is temporary", async (name) => {
      const area = makeArea(actor);
      const before = area.snapshot();
      const store = new TestStore(actor, registry.host);
      const script = 'echo x >"$HOME/made" && echo used';
      for (const item of disguises(name, area.canary)) {
        const result = await runRoot(store, [item], ["-p", "restrictive", "sh", "-c", script]);
        expect(result.stdout, result.stderr).toBe("used\n");
      }
      expect(area.snapshot()).toEqual(before);
    });

    it("with a list of accounts that is a link, a pipe, a folder or huge", async () => {
      const area = makeArea(actor);
      const before = area.snapshot();
      const store = new TestStore(actor, registry.host);
      const lists = [
        ...disguises("etc/passwd", join(area.canary, "file")),
        symlink("etc/passwd", "/proc/self/environ"),
        symlink("etc/group", "/dev/zero"),
        file("etc/passwd", Buffer.alloc(3 * 2 ** 20, "x")),
        file("etc/passwd", "root:x:0:0::../../..:/bin/sh\n"),
        file("etc/passwd", "root:x:0:0::/proc/1/root:/bin/sh\n"),
        file("etc/passwd", ":::\n\n::0\nroot\0:x:0:0\n"),
      ];
      for (const list of lists) {
        const result = await runRoot(store, [list], ["sh", "-c", "id -u"]);
        expect(result.stdout, result.stderr).toBe("0\n");
      }
      expect(area.snapshot()).toEqual(before);
    });

    it.each(["passwd", "hosts", "resolv.conf", "hostname"])(
      "with a folder at /etc/%s it does not start, and says why",
      async (name) => {
        const store = new TestStore(actor, registry.host);
        const { status, stderr } = await runRoot(store, [folder(`etc/${name}`), file(`etc/${name}/x`, "")], ["true"]);
        expect(stderr).toMatch(new RegExp(`the image has a folder at /etc/${name}`));
        expect(status).toBe(125);
      },
    );

    it("accounts that live in the root folder do not make a read-only root writable", async () => {
      const store = new TestStore(actor, registry.host);
      const accounts = file("etc/passwd", "root:x:0:0::/:/bin/sh\ndev:x:1000:1000::/:/bin/sh\n");
      const script = "touch /etc/made /usr/made /made; ls -d /etc/made /usr/made /made";
      const { stdout } = await runRoot(store, [accounts], ["-p", "restrictive", "sh", "-c", script]);
      expect(stdout).toBe("");
    });

    it("without a shell it says that there is none", async () => {
      const store = new TestStore(actor, registry.host);
      const { status, stderr } = await runRoot(store, [file("bin/.wh.sh", "")], ["sh", "-c", "true"]);
      expect(stderr).toMatch(/sh: command not found in the sandbox/);
      expect(status).toBe(127);
    });
  });
});

describe("F6 an image's configuration is data", () => {
  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();

    it("users that are none are refused by name, without their escape sequences", async () => {
      const store = new TestStore(actor, registry.host);
      for (const User of [
        "nobody",
        "70000",
        "-1",
        "root:wheel",
        "../../etc",
        "a b",
        "4294967295",
        "\u001b[31mred",
        ":",
      ]) {
        const { status, stderr } = await runRoot(store, [], ["true"], { User });
        expect(stderr, User).toMatch(/the user \S+.* cannot be used in the sandbox/);
        expect(stderr).not.toContain("\u001b");
        expect(status).toBe(125);
      }
    });

    it("working folders are made inside, those that can be none are refused, and none leads out", async () => {
      const store = new TestStore(actor, registry.host);
      for (const WorkingDir of ["/none", "/deep/er", "/\u001b[2J"]) {
        const made = await runRoot(store, [], [], { WorkingDir, Cmd: ["/bin/pwd"] });
        expect(made.stdout, made.stderr).toBe(`${WorkingDir}\n`);
      }
      for (const WorkingDir of ["/etc/passwd", "relative", "../.."]) {
        const { status, stderr } = await runRoot(store, [], [], { WorkingDir, Cmd: ["/bin/pwd"] });
        expect(stderr).toMatch(/working folder/);
        expect(stderr).not.toContain("\u001b");
        expect(status).toBe(125);
      }
      const { stdout } = await runRoot(store, [file("mark", "of the image")], [], {
        WorkingDir: "/proc/self/root",
        Cmd: ["/bin/cat", "mark"],
      });
      expect(stdout).toBe("of the image");
    });

    it("variables reach the command only, and only such as have a name", async () => {
      const store = new TestStore(actor, registry.host);
      const Env = [
        "LD_PRELOAD=/x.so",
        "__proto__=1",
        "A B=c",
        "PATH=/evil",
        "=x",
        "NODE_OPTIONS=--require=/x",
        "X=a\nY=b",
      ];
      const { status, stdout, stderr } = await runRoot(store, [], [], { Env, Cmd: ["/bin/env"] });
      expect(stderr).not.toMatch(/x\.so/);
      expect(status).toBe(0);
      expect(stdout.split("\n")).toEqual(
        expect.arrayContaining(["LD_PRELOAD=/x.so", "__proto__=1", "PATH=/evil", "X=a"]),
      );
      expect(stdout).not.toMatch(/^A B|^=x/m);
    });

    it("a command is never taken for an option of ours, and its name is printed escaped", async () => {
      const store = new TestStore(actor, registry.host);
      for (const Cmd of [["--image", "host"], ["\u001b[31mno"], ["-rf"]]) {
        const { status, stderr } = await runRoot(store, [], [], { Cmd });
        expect(stderr).toMatch(/command not found in the sandbox/);
        expect(stderr).not.toContain("\u001b");
        expect(status).toBe(127);
      }
    });
  });
});
