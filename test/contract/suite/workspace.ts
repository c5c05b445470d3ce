/** The project inside, in its four forms, and what of it no sandbox sees or changes. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { WorkspaceMode } from "../../../src/core/policy.js";
import { makeProject } from "../../support/project.js";
import { privateKeyHolding } from "../../support/secret-files.js";
import type { Contract } from "./contract.js";
import type { BootOptions } from "./subject.js";

const files = { "read.txt": "from the host\n", "src/deep/code.c": "int x;\n", "gone.txt": "delete me\n" };
const secrets = {
  ".env": "KEY=1\n",
  "deep/.env.local": "KEY=2\n",
  "deep/tls.pem": privateKeyHolding("pem"),
  ".ssh/id_rsa": "key\n",
};
const steering = { ".git/hooks/pre-commit": "#!/bin/sh\n", ".git/config": "[core]\n", ".mcp.json": "{}\n" };

const change =
  "cd /workspace; echo changed >> read.txt; echo new > new.txt; mkdir -p made/in; echo in > made/in/f; rm gone.txt; ln -s read.txt link";
const changed = {
  "read.txt": "from the host\nchanged\n",
  "src/": "",
  "src/deep/": "",
  "src/deep/code.c": "int x;\n",
  "new.txt": "new\n",
  "made/": "",
  "made/in/": "",
  "made/in/f": "in\n",
  link: "-> read.txt",
};

export function workspaceContract(contract: Contract): void {
  const { actor } = contract;
  const withProject = (path: string, mode: WorkspaceMode, readonly = false): BootOptions => ({
    projectDir: path,
    fields: { "fs.workspace.mode": mode, "fs.workspace.readonly": readonly },
  });

  contract.capability("project-path", (test) => {
    test("is at its own path as well, where the same files are read, written and hidden", async () => {
      const project = makeProject(actor, { ...files, ...secrets });
      await contract.sandbox(withProject(project.path, "copy"), async (sandbox) => {
        const own = `'${project.path}'`;
        expect(
          await sandbox.sh(
            `cd ${own} && pwd && cat read.txt && echo new > new.txt && cat /workspace/new.txt && ls -A ${own}/deep ${own}/.env`,
          ),
        ).toMatchObject({ stdout: `${project.path}\nfrom the host\nnew\n${project.path}/deep:\n` });
      });
      expect(project.content()).not.toHaveProperty("new.txt");
    });

    test("changes made at its own path are carried over by sync", async () => {
      const project = makeProject(actor, files);
      await contract.sandbox(withProject(project.path, "sync"), async (sandbox) => {
        expect(await sandbox.sh(`echo in > '${project.path}/src/new.txt'`)).toMatchObject({ code: 0 });
        expect((await sandbox.finish()).carried?.written).toContain("src/new.txt");
      });
      expect(project.content()["src/new.txt"]).toBe("in\n");
    });
  });

  contract.capability("workspace-copy", (test) => {
    test("is read and written inside, and the host's files never change", async () => {
      const project = makeProject(actor, files);
      const before = project.content();
      await contract.sandbox(withProject(project.path, "copy"), async (sandbox) => {
        expect(
          await sandbox.sh(`cat read.txt src/deep/code.c; ${change}; cat read.txt made/in/f`, { cwd: "/workspace" }),
        ).toMatchObject({
          code: 0,
          stdout: "from the host\nint x;\nfrom the host\nchanged\nin\n",
        });
        expect((await sandbox.finish()).carried).toBeNull();
      });
      expect(project.content()).toEqual(before);
    });

    test("read-only, it is read and every change refused", async () => {
      const project = makeProject(actor, files);
      await contract.sandbox(withProject(project.path, "copy", true), async (sandbox) => {
        const tried = "cat read.txt; echo x > new || echo no; echo x >> read.txt || echo no; rm gone.txt || echo no";
        const { stdout } = await sandbox.sh(tried, { cwd: "/workspace" });
        expect(stdout).toBe("from the host\nno\nno\nno\n");
      });
    });
  });

  contract.capability("workspace-sync", (test) => {
    test("changes are carried over at the end, and reported", async () => {
      const project = makeProject(actor, files);
      const before = project.content();
      await contract.sandbox(withProject(project.path, "sync"), async (sandbox) => {
        expect(await sandbox.sh(change)).toMatchObject({ code: 0 });
        expect(project.content()).toEqual(before);
        const { carried } = await sandbox.finish();
        expect(carried).toEqual({
          written: ["link", "made", "made/in", "made/in/f", "new.txt", "read.txt"],
          deleted: ["gone.txt"],
          conflicts: [],
          refused: [],
          held: [],
          heldAs: null,
          omitted: 0,
          repositories: [],
        });
      });
      expect(project.content()).toEqual(changed);
    });

    test("a sandbox that is killed carries nothing over", async () => {
      const project = makeProject(actor, files);
      const before = project.content();
      await contract.sandbox(withProject(project.path, "sync"), async (sandbox) => {
        await sandbox.sh(change);
        expect((await sandbox.kill()).carried).toBeNull();
      });
      expect(project.content()).toEqual(before);
    });

    test("what the host changed meanwhile is reported and left as the host has it", async () => {
      const project = makeProject(actor, files);
      await contract.sandbox(withProject(project.path, "sync"), async (sandbox) => {
        await sandbox.sh("cd /workspace; echo sandbox > read.txt; rm gone.txt; echo sandbox > src/deep/code.c");
        writeFileSync(join(project.path, "read.txt"), "host\n");
        writeFileSync(join(project.path, "gone.txt"), "host\n");
        const { carried } = await sandbox.finish();
        expect(carried).toMatchObject({ conflicts: ["gone.txt", "read.txt"], written: ["src/deep/code.c"] });
      });
      expect(project.content()).toMatchObject({
        "read.txt": "host\n",
        "gone.txt": "host\n",
        "src/deep/code.c": "sandbox\n",
      });
    });
  });

  contract.capability("workspace-mount", (test) => {
    test("both sides see each other's changes at once", async () => {
      const project = makeProject(actor, files);
      await contract.sandbox(withProject(project.path, "mount"), async (sandbox) => {
        expect(await sandbox.sh(change)).toMatchObject({ code: 0 });
        expect(project.content()).toMatchObject(changed);
        writeFileSync(join(project.path, "read.txt"), "the host again\n");
        expect(await sandbox.sh("cat /workspace/read.txt")).toMatchObject({ stdout: "the host again\n" });
        await sandbox.finish();
      });
      expect(project.content()).toEqual({ ...changed, "read.txt": "the host again\n" });
    });
  });

  contract.capability("workspace-none", (test) => {
    test("is an empty folder that can be written", async () => {
      await contract.sandbox({}, async (sandbox) => {
        expect(await sandbox.sh("ls -A; echo x > f && cat f", { cwd: "/workspace" })).toMatchObject({ stdout: "x\n" });
      });
    });
  });

  contract.capability("hidden-files", (test) => {
    for (const mode of ["copy", "sync", "mount"] as const) {
      contract.needing(`workspace-${mode}`, test)(
        `${mode}: secrets of the project cannot be read or changed`,
        async () => {
          const project = makeProject(actor, { ...files, ...secrets });
          const before = project.content();
          await contract.sandbox(withProject(project.path, mode), async (sandbox) => {
            const paths = Object.keys(secrets).join(" ");
            const { stdout } = await sandbox.sh(
              `for f in ${paths}; do cat $f && echo; echo overwritten > $f; done; cat read.txt`,
              { cwd: "/workspace" },
            );
            expect(stdout.replaceAll("overwritten\n", "").trim()).toBe("from the host");
            await sandbox.finish();
          });
          expect(project.content()).toEqual(before);
        },
      );
    }
  });

  contract.capability("protected-files", (test) => {
    const evil = [
      "for f in .git/hooks/pre-commit .git/hooks/post-checkout .git/config .mcp.json agentkernel.toml",
      "do echo evil > $f; done",
      "mkdir -p .claude; echo evil > .claude/settings.json; echo fine > fine.txt",
    ].join("; ");
    const renames = "mv .git .gone && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; rm -rf .git .mcp.json";

    for (const mode of ["sync", "mount"] as const) {
      contract.needing(`workspace-${mode}`, test)(
        `${mode}: what steers agents and hooks is neither changed nor made`,
        async () => {
          const project = makeProject(actor, { ...files, ...steering });
          const before = project.content();
          await contract.sandbox(withProject(project.path, mode), async (sandbox) => {
            await sandbox.sh(evil, { cwd: "/workspace" });
            await sandbox.finish();
          });
          expect(project.content()).toEqual({ ...before, "fine.txt": "fine\n" });
        },
      );

      contract.needing(`workspace-${mode}`, test)(`${mode}: nor by moving away the folders they are in`, async () => {
        const project = makeProject(actor, { ...files, ...steering });
        const before = project.content();
        await contract.sandbox(withProject(project.path, mode), async (sandbox) => {
          await sandbox.sh(renames, { cwd: "/workspace" });
          await sandbox.finish();
        });
        // A copy under a name that steers nothing may be there; the originals are as they were.
        expect(project.content()).toMatchObject(before);
      });
    }
  });

  contract.capability("mounts", (test) => {
    test("a folder and a file of the host are shown where they were asked for, and stay as they are", async () => {
      const shown = makeProject(actor, { "lib/a.txt": "a\n", "one.txt": "one\n" });
      const mounts = [
        { host: join(shown.path, "lib"), guest: "/deps/lib", readonly: true },
        { host: join(shown.path, "one.txt"), guest: "/deps/one.txt", readonly: true },
      ];
      await contract.sandbox({ fields: { "fs.mounts": mounts } }, async (sandbox) => {
        const tried =
          "cat /deps/lib/a.txt /deps/one.txt; echo x > /deps/lib/a.txt || echo no; echo x > /deps/lib/b || echo no; echo x > /deps/one.txt || echo no";
        expect((await sandbox.sh(tried)).stdout).toBe("a\none\nno\nno\nno\n");
        await sandbox.finish();
      });
      expect(shown.content()).toEqual({ "lib/": "", "lib/a.txt": "a\n", "one.txt": "one\n" });
    });

    contract.needing("workspace-mount", test)("one that may be written is the host's own", async () => {
      const shown = makeProject(actor, { "one.txt": "one\n" });
      const mounts = [{ host: shown.path, guest: "/live", readonly: false }];
      await contract.sandbox({ fields: { "fs.mounts": mounts } }, async (sandbox) => {
        expect(await sandbox.sh("echo live > /live/made; cat /live/one.txt")).toMatchObject({ stdout: "one\n" });
        await sandbox.finish();
      });
      expect(shown.content()).toEqual({ "one.txt": "one\n", made: "live\n" });
    });
  });

  contract.capability("home", (test) => {
    test("is shown at its own path, read-only, without its secrets", async () => {
      const home = makeProject(actor, {
        "notes.txt": "notes\n",
        ".ssh/id_ed25519": "key\n",
        ".aws/credentials": "k\n",
      });
      const options: BootOptions = { homeDir: home.path, fields: { "fs.home": "readonly" } };
      await contract.sandbox(options, async (sandbox) => {
        const tried = "cat notes.txt; cat .ssh/* .aws/* ; echo x > notes.txt || echo no; echo x > new || echo no";
        expect((await sandbox.sh(tried, { cwd: home.path })).stdout).toBe("notes\nno\nno\n");
      });
    });
  });
}
