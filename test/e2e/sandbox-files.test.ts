/**
 * `diff`, `apply` and `cp` on a real project under git, in a real sandbox: what a user types, what comes back, and what
 * lies in the project afterwards.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { makeProject, type Project } from "../support/project.js";
import { type CliResult, runCli } from "../support/run-cli.js";

interface World {
  readonly project: Project;
  sh(script: string): Promise<void>;
  cli(...words: string[]): Promise<CliResult>;
  diff(...words: string[]): Promise<CliResult>;
  apply(...words: string[]): Promise<CliResult>;
  cp(...words: string[]): Promise<CliResult>;
}

const png = Buffer.from("89504e470d0a1a0a0000000d4948445200000001000000010806000000", "hex");

function git(folder: string, words: readonly string[], input: Buffer | "" = ""): string {
  const settings = ["-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@t"];
  const env = { PATH: process.env.PATH };
  const done = spawnSync("git", [...settings, ...words], { cwd: folder, encoding: "latin1", env, input });
  if (done.status !== 0) throw new Error(`git ${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

async function inWorld(actor: Actor, use: (world: World) => Promise<void>): Promise<void> {
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
  const state = { XDG_STATE_HOME: actor.ownFolder("state") };
  const client = clientOf({ ...actor, variables: { ...actor.variables, ...state } });
  const cli = (...words: string[]) => runCli(client, words, { cwd: project.path });
  try {
    const made = await cli("create", "--no-network", "box");
    expect(made, made.stderr).toMatchObject({ status: 0 });
    expect((await cli("start", "box")).status).toBe(0);
    await use({
      project,
      cli,
      sh: async (script) => {
        expect(await cli("exec", "box", "sh", "-ec", script)).toMatchObject({ stderr: "", status: 0 });
      },
      diff: (...words) => cli("diff", ...words),
      apply: (...words) => cli("apply", ...words),
      cp: (...words) => cli("cp", ...words),
    });
  } finally {
    await cli("remove", "--force", "box");
    await cli("daemon", "stop", "--all");
  }
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
        " src/cart.ts | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n",
      );
      const { data } = JSON.parse((await diff("box", "--json", "src/cart.ts")).stdout) as {
        data: { changes: object[] };
      };
      expect(data.changes).toMatchObject([{ change: "modified", path: "src/cart.ts", before: { mode: "0644" } }]);
      expect((await diff("box", "nowhere")).stderr).toContain("nothing changed at nowhere");
      const patch = await diff("box", "--patch");
      expect(patch.stderr).toMatch(/not in the patch: src\/passwd/);
      expect(patch.stdout + patch.stderr).not.toContain("of-the-host");
      git(project.path, ["apply", "--check", "-"], patch.stdoutBytes);
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
      expect(await apply("box", "--force")).toMatchObject({
        status: 125,
        stderr: expect.stringContaining("needs paths"),
      });
      expect(await apply("box", "--force", "README.md")).toMatchObject({ status: 0, stdout: "M README.md\n" });
      expect(readFileSync(ofHost, "utf8")).toBe("inside\n");
    });
  });

  it("cp brings files in and out, and says what it left out", async () => {
    await inWorld(actor, async ({ project, sh, cli, cp, diff }) => {
      const folder = makeProject(actor, { "data/a": "a\n", "data/.env": "TOKEN=of-the-host\n" }).path;
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
      await sh("truncate -s 2M large; truncate -s 1T sparse");
      for (const words of [
        ["box:large", folder, "--max-size", "1m"],
        ["box:sparse", folder],
      ]) {
        expect(await cp(...words)).toMatchObject({ status: 125, stderr: expect.stringContaining("--max-size") });
      }
      for (const [words, sentence] of [
        [[join(folder, "none"), "box:."], /^agentkernel: on this machine: \S+none: [^()]*\n {2}hint: .*current folder/],
        [["box:none", folder], /^agentkernel: in the sandbox: \S+none: [^()]*\n {2}hint: .*\/workspace/],
        [["box:README.md", join(folder, "none/at/all")], /^agentkernel: on this machine: .*none\/at/],
      ] as const) {
        expect(await cp(...words)).toMatchObject({ status: 125, stderr: expect.stringMatching(sentence) });
      }
      expect(await cp("box:.env", folder)).toMatchObject({
        status: 125,
        stderr: expect.stringMatching(/no such file/i),
      });
      for (const words of [["a"], ["a", "b"], ["box:a", "b", "c"], ["box:", "b"], ["other:a", "b"]]) {
        const refused = await cp(...words);
        expect(refused.status, refused.stderr).toBe(125);
      }
      expect((await cli("audit", "list", "--type", "file")).stdout).toMatch(/data/);
      expect((await cli("stop", "box")).status).toBe(0);
      expect(await cp("box:a.txt", folder)).toMatchObject({
        status: 125,
        stderr: expect.stringContaining("agentkernel start box"),
      });
      expect((await diff("box", "large")).stdout).toBe("A large (binary)\n");
      expect(git(project.path, ["status", "--porcelain"])).toBe("");
    });
  });
});
