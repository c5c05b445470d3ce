/**
 * `diff`, `apply` and `cp` on a real project under git, in a real sandbox: what a user types, what comes back, and what
 * lies in the project afterwards.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { apply, applyOptions } from "../../src/cli/changes/apply.js";
import { diff, diffOptions } from "../../src/cli/changes/diff.js";
import { cp, cpOptions } from "../../src/cli/copy/cp.js";
import type { Invocation } from "../../src/cli/invocation/index.js";
import type { OptionSpec } from "../../src/cli/option-spec.js";
import { parseOptions } from "../../src/cli/parse-options.js";
import type { FindSandbox } from "../../src/cli/sandbox-files.js";
import { builtInHideRules } from "../../src/policy/hidden.js";
import { inStateFolder, type Owned, startKept } from "../contract/suite/kept-subject.js";
import { bootSpec } from "../contract/suite/subject.js";
import { type Actor, actors } from "../support/actors.js";
import { linuxBackendOf } from "../support/linux-backend.js";
import { makeProject, type Project } from "../support/project.js";

interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface World {
  readonly owned: Owned;
  readonly project: Project;
  sh(script: string): Promise<void>;
  diff(...words: string[]): Promise<Answer>;
  apply(...words: string[]): Promise<Answer>;
  cp(...words: string[]): Promise<Answer>;
}

const png = Buffer.from("89504e470d0a1a0a0000000d4948445200000001000000010806000000", "hex");

function git(folder: string, words: readonly string[], input = ""): string {
  const settings = ["-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@t"];
  const env = { PATH: process.env.PATH };
  const done = spawnSync("git", [...settings, ...words], { cwd: folder, encoding: "latin1", env, input });
  if (done.status !== 0) throw new Error(`git ${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

async function inWorld(actor: Actor, use: (world: World) => Promise<void>): Promise<void> {
  const { kept } = linuxBackendOf(actor);
  if (kept === undefined) throw new Error("the backend keeps sandboxes");
  const project = makeProject(actor, {
    "README.md": "# shop\n",
    "src/cart.ts": "export const items = [];\nexport const total = 0;\n",
    "src/old-name.ts": "export const moved = true;\n",
    "src/gone.ts": "export {};\n",
    "build.sh": "#!/bin/sh\necho build\n",
    ".env": "TOKEN=of-the-host\n",
    ".gitignore": ".env\n",
  });
  git(project.path, ["init", "-q"]);
  git(project.path, ["add", "."]);
  git(project.path, ["commit", "-q", "-m", "first"]);
  spawnSync("chown", ["-R", `${actor.uid}:${actor.gid}`, project.path]);
  // Files get the time of a clock that ticks now and then; this waits for the next tick.
  makeProject(actor, {});
  const folder = actor.ownFolder("state");
  await inStateFolder(kept, folder, async () => {
    const owned = await startKept(kept, bootSpec({ projectDir: project.path }), folder);
    const find: FindSandbox = async (name) => ({
      name,
      stateDir: folder,
      changes: kept.changes,
      hide: builtInHideRules,
      withFiles: (using) => using(owned.session.files),
    });
    await use({
      owned,
      project,
      sh: async (script) =>
        expect(await owned.sh(script, { cwd: "/workspace" })).toMatchObject({ stderr: "", code: 0 }),
      diff: (...words) => call(words, diffOptions, (parsed, invocation) => diff(parsed, invocation, find)),
      apply: (...words) => call(words, applyOptions, (parsed, invocation) => apply(parsed, invocation, find)),
      cp: (...words) => call(words, cpOptions, (parsed, invocation) => cp(parsed, invocation, find)),
    });
  });
}

/** A verb as it is called, with what it prints. */
async function call(
  words: readonly string[],
  options: readonly OptionSpec[],
  verb: (parsed: ReturnType<typeof parseOptions>, invocation: Invocation) => Promise<number>,
): Promise<Answer> {
  const spec = { name: "verb", summary: "", usage: "", examples: [], options, rest: { kind: "words" } } as const;
  const parsed = parseOptions({ ...spec, load: () => Promise.reject(new Error("not loaded")) }, words);
  if (parsed.problem !== null) throw parsed.problem;
  const said = { stdout: "", stderr: "" };
  const output = (name: "stdout" | "stderr") => ({
    isTerminal: false,
    write: async (text: string) => {
      said[name] += text;
      return null;
    },
    stream: () =>
      new Writable({
        write(chunk: Buffer, _, done) {
          said[name] += chunk.toString("latin1");
          done();
        },
      }),
  });
  const silent = { onEnding: () => () => {}, onPause: () => () => {} };
  const invocation = {
    cwd: "/",
    env: {},
    stdout: output("stdout"),
    stderr: output("stderr"),
    signals: silent,
    gone: null,
  };
  const status = await verb(parsed, invocation as unknown as Invocation);
  return { status, ...said };
}

const work = `
sed -i 's/total = 0/total = 1/' src/cart.ts
git mv src/old-name.ts src/new-name.ts 2>/dev/null || mv src/old-name.ts src/new-name.ts
rm src/gone.ts
mkdir -p test assets
echo 'test("it adds", () => {});' > test/cart.test.ts
cp README.md README.bak
printf '\\211PNG\\r\\n\\032\\n\\000\\000\\000\\rIHDR' > assets/logo.png
chmod +x README.md; chmod 644 build.sh; chmod 755 build.sh
ln -s cart.ts src/index.ts
ln -s /etc/passwd src/passwd
echo TOKEN=mine > .env
echo 'echo evil' > .git/hooks/pre-commit
`;

describe.each(actors)("files of a sandbox, as $name", (actor) => {
  it("diff lists, counts and patches what changed, and apply takes it over", async () => {
    await inWorld(actor, async ({ project, sh, diff, apply }) => {
      await sh(work);
      const listed = await diff("box");
      expect(listed).toMatchObject({ status: 0, stderr: "" });
      const ours = listed.stdout.split("\n").filter((line) => line !== "" && !line.includes(" .git/"));
      expect(ours).toEqual([
        "A .env (refused: hidden)",
        "A README.bak",
        "M README.md (mode 644 -> 755)",
        "A assets/logo.png (binary)",
        "M build.sh (mode 644 -> 755)",
        "M src/cart.ts",
        "D src/gone.ts",
        "A src/index.ts (symlink to cart.ts)",
        "R src/old-name.ts -> src/new-name.ts",
        "A src/passwd (symlink to /etc/passwd; refused: an absolute link means something else on the host)",
        "A test/cart.test.ts",
      ]);
      expect((await diff("box", "--name-only", "test", "/workspace/src/cart.ts")).stdout).toBe(
        "src/cart.ts\ntest/cart.test.ts\n",
      );
      expect((await diff("box", "--stat", "src/cart.ts")).stdout).toBe(
        " src/cart.ts | 2 +-\n 1 file changed, 1 insertions(+), 1 deletions(-)\n",
      );
      const { data } = JSON.parse((await diff("box", "--json", "src/cart.ts")).stdout) as {
        data: { changes: object[] };
      };
      expect(data.changes).toMatchObject([{ change: "modified", path: "src/cart.ts", before: { mode: "0644" } }]);
      expect((await diff("box", "nowhere")).stderr).toContain("nothing changed at nowhere");
      const patch = await diff("box", "--patch");
      expect(patch.stderr).toMatch(/not in the patch: src\/passwd/);
      expect(patch.stdout + patch.stderr).not.toContain("of-the-host");
      git(project.path, ["apply", "--check", "-"], patch.stdout);
      const applied = await apply("box", "--dry-run", "src", "assets", "test", "README.md");
      expect(applied).toMatchObject({ status: 0 });
      expect(readFileSync(join(project.path, "src/cart.ts"), "utf8")).toContain("total = 0");
      expect(await apply("box")).toMatchObject({ status: 0 });
      const read = (name: string) => readFileSync(join(project.path, name), "utf8");
      expect(read("src/cart.ts")).toContain("total = 1");
      expect([read("src/new-name.ts"), read("src/index.ts")]).toEqual([
        "export const moved = true;\n",
        read("src/cart.ts"),
      ]);
      expect(readlinkSync(join(project.path, "src/index.ts"))).toBe("cart.ts");
      for (const name of ["src/gone.ts", "src/old-name.ts", "src/passwd", ".git/hooks/pre-commit"]) {
        expect(existsSync(join(project.path, name)), name).toBe(false);
      }
      expect(lstatSync(join(project.path, "README.md")).mode & 0o777).toBe(0o755);
      expect(readFileSync(join(project.path, "assets/logo.png")).subarray(0, 8)).toEqual(png.subarray(0, 8));
      expect(read(".env")).toBe("TOKEN=of-the-host\n");
      expect(git(project.path, ["status", "--porcelain"])).toContain("M src/cart.ts");
      const again = await apply("box", "--json");
      expect(JSON.parse(again.stdout)).toMatchObject({ success: true, data: { applied: 0, conflicts: 0 } });
    });
  });

  it("a conflict is told and left, with status 1, until it is forced by name", async () => {
    await inWorld(actor, async ({ project, sh, diff, apply }) => {
      await sh("echo inside > README.md; echo inside > src/cart.ts");
      const ofHost = join(project.path, "README.md");
      writeFileSync(ofHost, "of the host\n");
      expect((await diff("box", "README.md")).stdout).toBe("M README.md (conflict: changed on the host since)\n");
      const applied = await apply("box");
      expect(applied).toMatchObject({ status: 1, stdout: "M src/cart.ts\n" });
      expect(applied.stderr).toMatch(/not applied: M README.md \(conflict[^\n]*\n.*1 conflict; .*--force PATH/);
      expect(readFileSync(ofHost, "utf8")).toBe("of the host\n");
      await expect(apply("box", "--force")).rejects.toMatchObject({ code: "invalid_argument" });
      expect(await apply("box", "--force", "README.md")).toMatchObject({ status: 0, stdout: "M README.md\n" });
      expect(readFileSync(ofHost, "utf8")).toBe("inside\n");
    });
  });

  it("cp brings files in and out, and says what it left out", async () => {
    await inWorld(actor, async ({ owned, project, sh, cp }) => {
      const folder = actor.folder("copies");
      mkdirSync(join(folder, "data"));
      writeFileSync(join(folder, "data", "a"), "a\n");
      writeFileSync(join(folder, "data", ".env"), "TOKEN=of-the-host\n");
      chmodSync(join(folder, "data", "a"), 0o640);
      const sent = await cp(join(folder, "data"), "box:.");
      expect(sent).toMatchObject({ status: 0, stdout: "" });
      expect(sent.stderr).toBe("agentkernel: not copied: .env: hidden; name it to copy it\n");
      await sh("test ! -e data/.env; cd data; test $(stat -c %a a) = 640; ln -s /etc/hostname away; mkfifo pipe");
      const back = await cp("box:data/", folder, "--json");
      expect(JSON.parse(back.stdout)).toMatchObject({ success: true, data: { files: 1, folders: 1, links: 0 } });
      expect(back.stdout).toContain("a pipe");
      expect(await cp("box:/workspace/README.md", join(folder, "copy.md"))).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(join(folder, "copy.md"), "utf8")).toBe("# shop\n");
      expect((await owned.sh("truncate -s 2M large", { cwd: "/workspace" })).code).toBe(0);
      await expect(cp("box:large", folder, "--max-size", "1m")).rejects.toMatchObject({
        code: "resource_exhausted",
        hint: expect.stringContaining("--max-size"),
      });
      await expect(cp("box:.env", folder)).rejects.toMatchObject({ code: "file_error" });
      for (const words of [["a"], ["a", "b"], ["box:a", "b", "c"], ["box:", "b"]]) {
        await expect(cp(...words)).rejects.toMatchObject({ code: "invalid_argument" });
      }
      expect(git(project.path, ["status", "--porcelain"])).toBe("");
    });
  });
});
