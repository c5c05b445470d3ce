/** Commits that delete or empty what a sandbox cannot see, written in every way that git would take. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { type GitProject, makeGitProject, secrets } from "../../support/git-project.js";
import { outlastClockTick } from "../../support/project.js";
import { runIn } from "../../support/run-cli.js";
import { runOutside } from "../support/fs-attack.js";
import { gitWriter } from "../support/git-writer.js";

const attacks: readonly { readonly name: string; readonly source: string }[] = [
  { name: "a commit without them", source: `point("refs/heads/main", commit(without, old))` },
  {
    name: "a commit that empties them",
    source: `point("refs/heads/main", commit(changed(base, env=(b"100644", empty)), old))`,
  },
  {
    name: "a commit with a directory in their place",
    source: `point("refs/heads/main", commit(changed(base, env=(b"40000", write_tree({b"x": (b"100644", bytes.fromhex(empty))}))), old))`,
  },
  {
    name: "a submodule in their place",
    source: `point("refs/heads/main", commit(changed(base, env=(b"160000", old)), old))`,
  },
  { name: "all branches removed", source: `shutil.rmtree(f"{git}/refs/heads")` },
  { name: "a commit without parents", source: `point("refs/heads/main", commit(without))` },
  {
    name: "a merge with a history that never had them",
    source: `point("refs/heads/main", commit(without, old, commit(without)))`,
  },
  {
    name: "a merge of a longer history that never had them",
    source: `
side = commit(without, commit(without), message="second")
point("refs/heads/main", commit(without, side, old))`,
  },
  {
    name: "a deletion below commits that have them",
    source: `point("refs/heads/main", commit(lossless, commit(without, old)))`,
  },
  { name: "a stash", source: `point("refs/stash", commit(without, old, commit(base, old)))` },
  { name: "a branch of another name", source: `point("refs/heads/deep/er", commit(without, old))` },
  { name: "a reference of no usual kind", source: `point("refs/odd", commit(without, old))` },
  {
    name: "a branch in packed-refs",
    source: `
os.unlink(f"{git}/refs/heads/main")
open(f"{git}/packed-refs", "w").write(f"# pack-refs with: peeled fully-peeled sorted\\n{commit(without, old)} refs/heads/main\\n")`,
  },
  { name: "a checked out commit", source: `open(f"{git}/HEAD", "w").write(commit(without, old) + "\\n")` },
  {
    name: "another branch that is checked out",
    source: `
point("refs/heads/other", commit(without, old))
open(f"{git}/HEAD", "w").write("ref: refs/heads/other\\n")`,
  },
  {
    name: "a history that is said to end before them",
    source: `
lossy = commit(without, old)
open(f"{git}/shallow", "w").write(lossy + "\\n")
point("refs/heads/main", lossy)`,
  },
  {
    name: "a graft",
    source: `
lossy = commit(without, old)
os.makedirs(f"{git}/info", exist_ok=True)
open(f"{git}/info/grafts", "w").write(lossy + "\\n")
point("refs/heads/main", lossy)`,
  },
  { name: "a replacement of the commit", source: `point(f"refs/replace/{old}", commit(without))` },
  {
    name: "an index without them",
    source: `
index = b"DIRC" + (2).to_bytes(4, "big") + (0).to_bytes(4, "big")
os.unlink(f"{git}/index")
open(f"{git}/index", "wb").write(index + hashlib.sha1(index).digest())`,
  },
  { name: "no index", source: `os.unlink(f"{git}/index")` },
  {
    name: "an object of theirs that is damaged",
    source: `
name = entries(base)[b".env"][1].hex()
path = f"{git}/objects/{name[:2]}/{name[2:]}"
os.chmod(path, 0o644)
open(path, "wb").write(zlib.compress(b"blob 0\\0"))`,
  },
];

function words(source: string): readonly string[] {
  return ["python3", "-c", `${gitWriter}\n${source}\nopen("code.txt", "w").write("changed\\n")\n`];
}

/** What of the secrets git of the host finds, at HEAD and in every reference, and would commit of its index. */
function kept(project: GitProject): object {
  const references = project.git("for-each-ref", "--format=%(refname)").trim().split("\n");
  return {
    head: project.secretsIn("HEAD"),
    references: Object.fromEntries(references.map((name) => [name, project.secretsIn(name)])),
    staged: project.git("diff", "--cached", "--name-status"),
    onDisk: project.secretsOnDisk(),
    log: project.git("log", "--format=%s"),
  };
}

async function attack(actor: Actor, source: string, form: string): Promise<{ project: GitProject; stderr: string }> {
  const project = makeGitProject(actor);
  outlastClockTick();
  const { status, stderr } = await runIn(actor, ["--workspace", form, ...words(source)], { cwd: project.path });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return { project, stderr };
}

describe.each(actors)("F13 git deletes and empties nothing that is hidden, as $name", (actor) => {
  const whole = {
    head: secrets,
    references: { "refs/heads/main": secrets },
    staged: "",
    onDisk: secrets,
    log: "first\n",
  };

  it.each(attacks)("outside, it works: $name", async ({ source }) => {
    const project = makeGitProject(actor);
    expect(kept(project)).toEqual(whole);
    const { status, stderr } = await runOutside(actor, words(source), project.path);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    let after: object | null = null;
    try {
      after = kept(project);
    } catch {
      // Git refuses what it finds now.
    }
    expect(after).not.toEqual(whole);
  });

  it.each(attacks)("sync: $name does not reach the repository", async ({ source }) => {
    const { project } = await attack(actor, source, "sync");
    expect(kept(project)).toEqual(whole);
    expect(readFileSync(join(project.path, "code.txt"), "utf8")).toBe("changed\n");
    project.git("fsck", "--strict");
  });

  it("mount: what would reach it at once is refused at once", async () => {
    const project = makeGitProject(actor);
    const source = `
for write in [lambda: point("refs/heads/main", commit(without, old)), lambda: os.unlink(f"{git}/index")]:
    try:
        write()
    except OSError:
        pass`;
    const guarded = gitWriter.replace(/^(empty|without) = .*$/gm, "$1 = None");
    const { status } = await runIn(actor, ["--workspace", "mount", "python3", "-c", `${guarded}\n${source}`], {
      cwd: project.path,
    });
    expect(status).toBe(0);
    expect(kept(project)).toEqual(whole);
  });

  it("names that are held for the time of a live mount are no files that git commits", async () => {
    const project = makeGitProject(actor);
    for (const name of Object.keys(secrets)) project.git("rm", "--quiet", "--cached", name);
    project.git("commit", "--quiet", "--message=untracked");
    const script = "printf '.env\\nid_rsa\\n' > .gitignore; git add -A && git commit -qm all && git status --short";
    const outside = await runIn(actor, ["--workspace", "mount", "sh", "-ec", script], { cwd: project.path });
    expect(outside).toMatchObject({ status: 0, stdout: "" });
    expect(project.git("ls-tree", "-r", "--name-only", "HEAD").trim().split("\n").sort()).toEqual(
      [".gitignore", "code.txt", "deploy/run.sh"].sort(),
    );
  });
});
