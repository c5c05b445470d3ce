/** What a kept sandbox changed in its copy of the project: told while it runs and after, applied when asked for. */
import { spawnSync } from "node:child_process";
import { chmodSync, lstatSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { PersistentChanges, ProjectChange } from "../../../src/core/changes.js";
import { makeProject, type Project } from "../../support/project.js";
import type { Contract } from "./contract.js";
import { inStateFolder, type Owned, startPersistent } from "./kept-subject.js";
import { bootSpec } from "./subject.js";

const inProject = { cwd: "/workspace" } as const;
const everything = { paths: [] } as const;

const files = {
  "src/main.c": "int main() {\n  return 0;\n}\n",
  "src/old.c": "the same before and after\n",
  "docs/a.md": "a\n",
  "docs/b.md": "b\n",
  "run.sh": "#!/bin/sh\n",
  ".env": "TOKEN=of-the-host\n",
} as const;

const work = `set -e
sed -i s/0/1/ src/main.c
mv src/old.c src/new.c
rm -r docs
mkdir -p assets empty
printf '\\000\\001\\002' > assets/logo.bin
chmod 755 run.sh
ln -s src/main.c link
ln -s /etc/passwd away
mkfifo pipe
echo TOKEN=of-the-sandbox > .env
mkdir .claude; echo x > .claude/settings.json
`;

/** Each change as a letter, its paths and what stands against it. */
function letters(changes: readonly ProjectChange[]): readonly string[] {
  return changes
    .map(({ change, path, from, conflict, refused }) => {
      const stands = conflict === null ? (refused === null ? "" : " (refused)") : " (conflict)";
      return `${change[0]?.toUpperCase()} ${from === null ? "" : `${from} -> `}${path}${stands}`;
    })
    .sort();
}

const allOfIt = [
  "A .claude/settings.json (refused)",
  "A .env (refused)",
  "A assets/logo.bin",
  "A away (refused)",
  "A empty",
  "A link",
  "A pipe (refused)",
  "D docs/a.md",
  "D docs/b.md",
  "M run.sh",
  "M src/main.c",
  "R src/old.c -> src/new.c",
];

export function keptChangesContract(contract: Contract): void {
  const { backend, actor } = contract;
  const { kept } = backend;
  const changes = kept?.changes;
  if (kept === undefined || changes === undefined) return;

  const made = allOfIt.filter((line) => contract.has("pipes-on-disk") || !line.startsWith("A pipe"));
  const refused = made.filter((line) => line.endsWith("(refused)"));

  const withWork = async (
    use: (owned: Owned, project: Project, folder: string) => Promise<void>,
    fields: Parameters<typeof bootSpec>[0]["fields"] = {},
  ) => {
    const project = makeProject(actor, files);
    const folder = actor.ownFolder("state");
    await inStateFolder(kept, folder, async () => {
      const owned = await startPersistent(kept, bootSpec({ projectDir: project.path, fields }), folder);
      expect(await owned.sh(work, inProject)).toMatchObject({ stderr: "", code: 0 });
      await use(owned, project, folder);
    });
  };

  contract.capability("kept", (test) => {
    test("what it changed in its copy is told while it runs and when it is stopped, and the project stays", async () => {
      await withWork(async (owned, project, folder) => {
        const before = project.content();
        expect(letters((await changes.list(folder, everything)).changes)).toEqual(made);
        await owned.sandbox.stop(1000);
        const { changes: found, projectDir } = await changes.list(folder, { ...everything, countsLines: true });
        expect(letters(found)).toEqual(made);
        expect(projectDir).toBe(project.path);
        const of = (path: string) => found.find((change) => change.path === path);
        expect(of("src/main.c")).toMatchObject({ binary: false, lines: { added: 1, removed: 1 } });
        expect(of("assets/logo.bin")).toMatchObject({ binary: true, lines: null, now: { sizeBytes: 3 } });
        expect(of("run.sh")).toMatchObject({ now: { mode: 0o755 }, before: { mode: 0o644 } });
        expect(of("link")).toMatchObject({ now: { type: "symlink", target: "src/main.c" } });
        expect(JSON.stringify(found)).not.toContain("of-the-host");
        expect(project.content()).toEqual(before);
      });
    });

    test("git applies its patch", async () => {
      await withWork(async (_, project, folder) => {
        const other = makeProject(actor, files);
        const notes: string[] = [];
        const patch = await collect(changes, folder, notes);
        const git = spawnSync("git", ["apply", "-"], { cwd: other.path, input: patch, encoding: "utf8" });
        expect(git).toMatchObject({ stderr: "", status: 0 });
        expect(notes.join("\n")).toMatch(contract.has("pipes-on-disk") ? /away.*\n(.*\n)*.*pipe/ : /away/);
        await changes.apply(folder, everything);
        // Git does not know of empty folders.
        rmSync(join(project.path, "empty"), { recursive: true });
        expect(other.content()).toEqual(project.content());
      });
    });

    test("apply takes it over, once, and leaves alone what is hidden or protected", async () => {
      await withWork(async (owned, project, folder) => {
        const report = await changes.apply(folder, everything);
        expect(report).toMatchObject({ applied: 8, conflicts: 0, refused: refused.length });
        expect(project.content()).toEqual({
          ".env": "TOKEN=of-the-host\n",
          "assets/": "",
          "assets/logo.bin": "\0\x01\x02",
          "empty/": "",
          link: "-> src/main.c",
          "run.sh": "#!/bin/sh\n",
          "src/": "",
          "src/main.c": "int main() {\n  return 1;\n}\n",
          "src/new.c": "the same before and after\n",
        });
        expect(statSync(join(project.path, "run.sh")).mode & 0o7777).toBe(0o755);
        for (const name of ["link", "assets", "src/main.c"]) {
          expect(lstatSync(join(project.path, name))).toMatchObject({ uid: actor.uid, gid: actor.gid });
        }
        expect(letters((await changes.list(folder, everything)).changes)).toEqual(refused);
        expect(await changes.apply(folder, everything)).toMatchObject({ applied: 0, conflicts: 0 });
        // What goes on from there goes on from what was applied.
        await owned.sh("echo more >> src/main.c", inProject);
        expect(await changes.apply(folder, { paths: ["src"] })).toMatchObject({ applied: 1, conflicts: 0, refused: 0 });
        expect(readFileSync(join(project.path, "src/main.c"), "utf8")).toMatch(/more\n$/);
      });
    });

    test("what the host changed since is a conflict, and stays until the user says otherwise", async () => {
      await withWork(async (_, project, folder) => {
        writeFileSync(join(project.path, "src/main.c"), "of the host\n");
        writeFileSync(join(project.path, "docs/b.md"), "of the host\n");
        chmodSync(join(project.path, "run.sh"), 0o700);
        const report = await changes.apply(folder, everything);
        expect(letters(report.changes).filter((line) => line.endsWith("(conflict)"))).toEqual([
          "D docs/b.md (conflict)",
          "M run.sh (conflict)",
          "M src/main.c (conflict)",
        ]);
        expect(report).toMatchObject({ conflicts: 3 });
        expect(project.content()).toMatchObject({ "src/main.c": "of the host\n", "docs/b.md": "of the host\n" });
        expect(project.content()).not.toHaveProperty("docs/a.md");
        const rehearsed = await changes.apply(folder, {
          paths: ["src/main.c"],
          isRehearsal: true,
          overridesHost: true,
        });
        expect(rehearsed).toMatchObject({ applied: 1, conflicts: 0 });
        expect(project.content()).toMatchObject({ "src/main.c": "of the host\n" });
        await changes.apply(folder, { paths: ["src/main.c"], overridesHost: true });
        expect(project.content()).toMatchObject({ "src/main.c": "int main() {\n  return 1;\n}\n" });
      });
    });

    test("what the host deleted and the sandbox went on with is a conflict, and what the sandbox moved is none", async () => {
      const project = makeProject(actor, { a: "a\n", b: "b\n", c: "c\n", d: "d\n" });
      const folder = actor.ownFolder("state");
      await inStateFolder(kept, folder, async () => {
        const owned = await startPersistent(kept, bootSpec({ projectDir: project.path }), folder);
        await owned.sh("echo more >> a; echo new > e", inProject);
        rmSync(join(project.path, "a"));
        const listed = async () => letters((await changes.list(folder, everything)).changes);
        expect(await listed()).toEqual(["A a (conflict)", "A e"]);
        expect(await changes.apply(folder, everything)).toMatchObject({ applied: 1, conflicts: 1 });
        expect(project.content()).not.toHaveProperty("a");
        const moved = "mv b moved; echo more >> moved; mv c c.bak; cp c.bak c; ln d linked; echo more >> linked; rm a";
        expect(await owned.sh(moved, inProject)).toMatchObject({ stderr: "", code: 0 });
        expect(await listed()).toEqual(["A c.bak", "A linked", "A moved", "D b", "M d"]);
      });
    });

    test("files that nobody may read inside, or that belong to others there, are found and applied", async () => {
      const closed = "echo closed > closed; chmod 000 closed; mkdir dark; echo in > dark/in; chmod 000 dark";
      await withWork(
        async (owned, project, folder) => {
          expect(await owned.sh(`${closed}; chown 1234:1234 closed dark dark/in`, inProject)).toMatchObject({
            code: 0,
          });
          const found = letters((await changes.list(folder, { paths: ["closed", "dark"] })).changes);
          expect(found).toEqual(["A closed", "A dark/in"]);
          await changes.apply(folder, { paths: ["closed", "dark"] });
          expect(lstatSync(join(project.path, "closed"))).toMatchObject({ uid: actor.uid, size: 7 });
          chmodSync(join(project.path, "closed"), 0o644);
          chmodSync(join(project.path, "dark"), 0o755);
          expect(project.content()).toMatchObject({ closed: "closed\n", "dark/in": "in\n" });
        },
        { "proc.user": "1234:1234" },
      );
    });

    test("a mounted project has no changes to look at, and a synced one is applied by its stop", async () => {
      const project = makeProject(actor, files);
      const modes = (["mount", "sync"] as const).filter((mode) => contract.has(`workspace-${mode}`));
      for (const mode of modes) {
        const folder = actor.ownFolder("state");
        await inStateFolder(kept, folder, async () => {
          const spec = bootSpec({ projectDir: project.path, fields: { "fs.workspace.mode": mode } });
          const owned = await startPersistent(kept, spec, folder);
          await owned.sh("echo x > run.sh", inProject);
          const listed = changes.list(folder, everything);
          if (mode === "mount") await expect(listed).rejects.toMatchObject({ code: "unsupported" });
          else expect(await listed).toMatchObject({ synced: true, changes: [{ path: "run.sh" }] });
          const code = mode === "mount" ? "unsupported" : "conflict";
          await expect(changes.apply(folder, everything)).rejects.toMatchObject({ code });
          writeFileSync(join(project.path, "run.sh"), files["run.sh"]);
        });
      }
    });
  });
}

async function collect(changes: PersistentChanges, folder: string, notes: string[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of changes.patch(folder, everything, (note) => notes.push(note))) parts.push(part);
  return Buffer.concat(parts);
}
