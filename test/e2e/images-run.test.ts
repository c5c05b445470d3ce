/** Which image a run is in, what it takes from it, and what happens where it cannot be had. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { ScriptedRegistry } from "../support/registry-scripted.js";
import { runCli } from "../support/run-cli.js";
import { busyboxTar, imageLines, imageOf, marker, TestStore } from "../support/served-images.js";
import { file, folder, symlink, tarOf } from "../support/tar-maker.js";

let registry: ScriptedRegistry;

/** Rows of the table: the image, a program in it that says where it is, and what makes a project one of that language. */
const rows = [
  { image: "python:3.12-alpine", program: "python3", projectFile: "requirements.txt" },
  { image: "node:22-alpine", program: "node", projectFile: "package.json" },
  { image: "golang:1.23-alpine", program: "go", projectFile: "go.mod" },
  { image: "ruby:3.3-alpine", program: "ruby", projectFile: "Gemfile" },
  { image: "alpine:3.20", program: "bash", projectFile: "run.sh" },
] as const;

function serve(image: string, program: string): void {
  const [name = "", tag = ""] = image.split(":");
  const tar = tarOf([...marker(`usr/bin/${program}`, `in ${image}:`), ...marker("usr/bin/tool", `in ${image}:`)]);
  registry.addImage(`library/${name}`, tag, imageOf({ tars: [busyboxTar(), tar] }));
}

const CONFIG = {
  Env: ["PATH=/usr/local/bin:/bin", "GREETING=from the image", "OVERRIDDEN=by the image"],
  WorkingDir: "/srv/app",
  User: "dev",
  Entrypoint: ["/bin/sh", "-c"],
  Cmd: ['echo "$(id -u) $(pwd) $GREETING $HOME"'],
};

beforeAll(async () => {
  registry = await ScriptedRegistry.start();
  for (const { image, program } of rows) serve(image, program);
  const places = tarOf([folder("srv"), folder("home"), { ...folder("home/dev"), uid: 1000, gid: 1000 }]);
  registry.addImage("team/configured", "1", imageOf({ tars: [busyboxTar(), places], config: CONFIG }));
  const linked = tarOf([
    folder("store"),
    file("store/passwd", "root:x:0:0::/root:/bin/sh\nkeeper:x:77:77::/store:/bin/sh\n"),
    symlink("etc/passwd", "/store/passwd"),
  ]);
  registry.addImage("team/linked", "1", imageOf({ tars: [busyboxTar(), linked] }));
  registry.addImage("team/silent", "1", imageOf({ tars: [busyboxTar()] }));
});
afterAll(async () => registry.stop());

describe.each(actors)("as $name", (actor) => {
  describe("a bare run", () => {
    it("in an empty folder is in the image of its command", async () => {
      const store = new TestStore(actor, registry.host);
      for (const { image, program } of rows) {
        const { status, stdout, stderr } = await store.run([program, "--version"]);
        expect(stdout, stderr).toBe(`in ${image}: --version\n`);
        expect(status).toBe(0);
        expect(imageLines(stderr)).toEqual([`agentkernel: pulling ${image}`]);
      }
    });

    it("pulls once, and after that needs no registry", async () => {
      const store = new TestStore(actor, registry.host);
      await store.run(["python3", "first"]);
      const asked = registry.seen.length;
      const again = await store.run(["python3", "again"]);
      expect(again.stdout).toBe("in python:3.12-alpine: again\n");
      expect(imageLines(again.stderr)).toEqual([]);
      expect(registry.seen.length).toBe(asked);
      expect(await store.run(["python3", "off"], { env: { AGENTKERNEL_PULL: "never" } })).toMatchObject({ status: 0 });
      expect(registry.seen.length).toBe(asked);
    });

    it("is in the image of the script that a shell is given", async () => {
      const store = new TestStore(actor, registry.host);
      const { stdout } = await store.run(["sh", "-c", "cd /tmp && node index.js"]);
      expect(stdout).toBe("in node:22-alpine: index.js\n");
    });

    it("of a command that speaks of no language is in the image of the project's files, or of its Procfile", async () => {
      const store = new TestStore(actor, registry.host);
      for (const { image, projectFile } of rows) {
        const { path: cwd } = makeProject(actor, { [projectFile]: "" });
        const { stdout, stderr } = await store.run(["tool", "used"], { cwd });
        expect(stdout, stderr).toBe(`in ${image}: used\n`);
      }
      const { path: cwd } = makeProject(actor, { Procfile: "worker: node worker.js\nweb: ruby app.rb\n" });
      expect((await store.run(["tool", "used"], { cwd })).stdout).toBe("in ruby:3.3-alpine: used\n");
    });

    it("has the project in it, and leaves the project as it is", async () => {
      const store = new TestStore(actor, registry.host);
      const { path: cwd } = makeProject(actor, { data: "of the project\n" });
      const { stdout } = await store.run(["sh", "-c", "cat data && echo changed >data && cat /workspace/data"], {
        cwd,
      });
      expect(stdout).toBe("of the project\nchanged\n");
      expect(existsSync(join(cwd, "marker"))).toBe(false);
    });
  });

  describe("what is said outright wins", () => {
    it("an option over a variable over the command", async () => {
      const store = new TestStore(actor, registry.host);
      const variable = await store.run(["tool", "x"], { env: { AGENTKERNEL_IMAGE: "ruby:3.3-alpine" } });
      expect(variable.stdout).toBe("in ruby:3.3-alpine: x\n");
      const option = await store.run(["--image", "node:22-alpine", "tool", "x"], {
        env: { AGENTKERNEL_IMAGE: "ruby:3.3-alpine" },
      });
      expect(option.stdout).toBe("in node:22-alpine: x\n");
      const host = await store.run(["--image", "host", "cat", "/marker"]);
      expect(host.status).toBe(1);
    });

    it("and --json and policy explain say why", async () => {
      const store = new TestStore(actor, registry.host);
      const { stdout } = await store.run(["--json", "python3", "x"]);
      const { data } = JSON.parse(stdout);
      expect(data.image).toEqual({
        name: "python:3.12-alpine",
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        why: expect.stringMatching(/python3/),
      });
      expect(data.stdout).toBe("in python:3.12-alpine: x\n");
      const explained = await runCli(actor, ["policy", "explain", "--json", "python3"], {
        cwd: actor.folder(),
        env: store.env,
      });
      const [row] = JSON.parse(explained.stdout).data;
      expect(row).toEqual({ field: "image", value: "python:3.12-alpine", origin: data.image.why });
      const named = await store.run(["--json", "--image", "ruby:3.3-alpine", "tool"]);
      expect(JSON.parse(named.stdout).data.image).toMatchObject({ name: "ruby:3.3-alpine", why: "--image" });
    });
  });

  describe("an image that cannot be had", () => {
    it("is the host's own programs where nobody named it, with one line that says so", async () => {
      const store = new TestStore(actor, registry.host);
      const { status, stderr } = await store.run(["php", "-v"]);
      // Whether the host has such a program or not: that it was looked for there is what counts.
      expect(status).not.toBe(125);
      expect(imageLines(stderr)[0]).toMatch(
        /^agentkernel: using this machine's own programs \(image host\): php:8\.3-alpine could not be had: /,
      );
    });

    it("is the host's own programs, exactly one line, and is not asked for again at once", async () => {
      const gone = await ScriptedRegistry.start();
      const { host } = gone;
      await gone.stop();
      const store = new TestStore(actor, host);
      for (const attempt of [1, 2]) {
        const { status, stdout, stderr } = await store.run(["python3", "-c", `print(${attempt})`]);
        expect(stdout).toBe(`${attempt}\n`);
        expect(status).toBe(0);
        expect(imageLines(stderr)).toEqual([expect.stringMatching(/using this machine's own programs \(image host\)/)]);
      }
      const { stdout } = await store.run(["--json", "python3", "-c", "print(3)"]);
      expect(JSON.parse(stdout).data.image).toMatchObject({
        name: "host",
        digest: null,
        why: expect.stringMatching(/could not be had/),
      });
    });

    it("is an error where it was named, and nothing runs", async () => {
      const store = new TestStore(actor, registry.host);
      const cases: readonly [readonly string[], Readonly<Record<string, string>>][] = [
        [["--image", "no/such:1"], {}],
        [[], { AGENTKERNEL_IMAGE: "no/such:1" }],
        [["--image", "team/silent:1", "--pull", "never"], {}],
      ];
      for (const [words, env] of cases) {
        const { status, stdout, stderr } = await store.run([...words, "sh", "-c", "echo ran"], { env });
        expect({ status, stdout }).toEqual({ status: 125, stdout: "" });
        expect(stderr).toMatch(/^agentkernel: .*\n {2}hint: /m);
      }
    });
  });

  describe("an image's configuration", () => {
    it("says what is run where none is given: entrypoint and command, in its folder, as its user, with its variables", async () => {
      const store = new TestStore(actor, registry.host);
      const { status, stdout, stderr } = await store.run(["--image", "team/configured:1"]);
      expect(stdout, stderr).toBe("1000 /srv/app from the image /home/dev\n");
      expect(status).toBe(0);
    });

    it("gives a command of the user's own its variables and its user, and the project as its folder", async () => {
      const store = new TestStore(actor, registry.host);
      const { path: cwd } = makeProject(actor, { x: "" });
      const run = (...words: string[]) =>
        store.run(
          [
            "--image",
            "team/configured:1",
            ...words,
            "sh",
            "-c",
            'echo "$(id -u):$(id -g) $PWD $GREETING $OVERRIDDEN $HOME"',
          ],
          { cwd },
        );
      // A folder that only its owner may enter is closed to the image's user.
      const open = ["--workspace", "none", "-w", "/srv"];
      expect((await run(...open)).stdout).toBe("1000:1000 /srv from the image by the image /home/dev\n");
      expect((await run(...open, "-e", "OVERRIDDEN=by me")).stdout).toBe(
        "1000:1000 /srv from the image by me /home/dev\n",
      );
      expect((await run("--user", "root")).stdout).toBe("0:0 /workspace from the image by the image /root\n");
      expect((await run(...open, "--user", "1000:0")).stdout).toBe(
        "1000:0 /srv from the image by the image /home/dev\n",
      );
      expect((await run(...open, "--user", "4242")).stdout).toBe("4242:4242 /srv from the image by the image /\n");
      expect((await run("--user", "nobody-here")).status).toBe(125);
    });

    it("has its accounts where a link leads to them", async () => {
      const store = new TestStore(actor, registry.host);
      const words = ["--image", "team/linked:1", "--workspace", "none", "-w", "/", "cat", "/etc/passwd"];
      const { stdout, stderr } = await store.run(words);
      expect(stdout, stderr).toContain("keeper:x:77:77::/store:/bin/sh\n");
    });

    it("that says nothing to run is an error that says so", async () => {
      const store = new TestStore(actor, registry.host);
      const { status, stderr } = await store.run(["--image", "team/silent:1"]);
      expect(stderr).toMatch(/does not say what to run/);
      expect(status).toBe(125);
    });
  });

  it("writes in an image are gone with the sandbox", async () => {
    const store = new TestStore(actor, registry.host);
    const first = await store.run([
      "--image",
      "team/silent:1",
      "sh",
      "-c",
      "echo x >/etc/made && echo y >/bin/busybox; cat /etc/made",
    ]);
    expect(first.stdout).toBe("x\n");
    const second = await store.run(["--image", "team/silent:1", "sh", "-c", "cat /etc/made; echo works"]);
    expect(second.stdout).toBe("works\n");
  });
});
