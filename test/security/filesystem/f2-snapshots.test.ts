/** What a sandbox can put into its files to have a copy of them read, write or fill something else. */
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { makeProject } from "../../support/project.js";
import { inWorld, type SandboxWorld } from "../../support/sandbox-world.js";

const SECRET = "the-host-has-this-secret";

const copyOf = (world: SandboxWorld, name: string) => join(world.folder(""), "../snapshots", name, "jail");

/** As root of the machine, or as the actor whose files they are. */
function holds(folder: string, text: string): boolean {
  const found = execFileSync("sh", [
    "-c",
    'find "$2" -type f -size -1024k -exec grep -lsF -- "$1" {} + || true',
    "sh",
    text,
    folder,
  ]).toString();
  return found !== "";
}

describe.each(actors)("F2 through snapshots as $name", (actor) => {
  it("a link out of the sandbox is followed by a careless copy, and stays a link in a snapshot", async () => {
    const outside = makeProject(actor, { "secret.txt": SECRET });
    const before = outside.content();
    const careless = actor.ownFolder("copy");
    execFileSync("sh", ["-c", `ln -s ${outside.path} ${careless}/l && cp -rL ${careless}/l ${careless}/copy`]);
    expect(readFileSync(join(careless, "copy/secret.txt"), "utf8")).toBe(SECRET);
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      const script = [
        `mkdir /opt/t && cd /opt/t && ln -s ${outside.path} dir && ln -s ${outside.path}/secret.txt file`,
        "ln -s / root && ln -s ../../../../../../.. up && mkfifo pipe && touch s && chmod 4755 s",
        "mknod dev b 8 0 2>/dev/null; ln dir hard-dir; ln s hard; mkdir no && touch no/in && chmod 0 no",
        'i=0; while [ $i -lt 200 ]; do mkdir d && cd d || break; i=$((i+1)); done; cd /opt/t; truncate -s 4t huge; echo "made"',
      ].join("; ");
      expect((await world.ak(["exec", "box", "sh", "-c", script])).stdout).toBe("made\n");
      await world.ok(["stop", "box"]);
      await world.ok(["snapshot", "--name", "s", "box"]);
      const tree = join(copyOf(world, "s"), "disk/iu/opt/t");
      expect(
        ["dir", "file", "root", "up", "hard-dir"].map((name) => lstatSync(join(tree, name)).isSymbolicLink()),
      ).toEqual(Array(5).fill(true));
      expect(readdirSync(tree)).not.toContain("dev");
      expect(statSync(join(tree, "huge")).blocks * 512).toBeLessThan(1 << 20);
      expect(holds(copyOf(world, "s"), SECRET)).toBe(false);
      expect(outside.content()).toEqual(before);
      await world.ok(["restore", "s", "again"]);
      const seen = await world.ak(["exec", "again", "sh", "-c", "cat /opt/t/file 2>&1; stat -c %a /opt/t/s /opt/t/no"]);
      expect(seen.stdout).not.toContain(SECRET);
      expect(seen.stdout).toMatch(/4755\n0\n$/);
      await world.ok(["snapshots", "remove", "s"]);
      expect(readdirSync(join(world.folder(""), "../snapshots"))).toEqual([]);
    });
    expect(outside.content()).toEqual(before);
  });

  it("a set-id program of a sandbox's lies where nobody else of the machine can reach it", async () => {
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--workspace", "none", "box"]);
      await world.ak(["exec", "box", "sh", "-c", "cp /bin/sh /opt/s && chmod 4755 /opt/s"]);
      await world.ok(["stop", "box"]);
      await world.ok(["snapshot", "--name", "s", "box"]);
      await world.ok(["fork", "box", "twin"]);
      for (const folder of [
        join(world.folder(""), "../snapshots"),
        copyOf(world, "s"),
        join(world.folder("twin"), "jail"),
      ])
        expect(statSync(folder).mode & 0o077, folder).toBe(0);
    });
  });
});

describe.each(actors)("F8 through snapshots as $name", (actor) => {
  it("what is hidden of a project is in no snapshot, and hidden in what is made of one", async () => {
    const project = makeProject(actor, { ".env": `KEY=${SECRET}\n`, "a.txt": "a\n" });
    expect(holds(project.path, SECRET)).toBe(true);
    await inWorld(actor, async (world) => {
      await world.ok(["create", "--no-network", "--dir", project.path, "box"]);
      await world.ak(["exec", "box", "sh", "-c", "cp -r . /opt/copy; echo changed > a.txt; touch -a .env"]);
      await world.ok(["stop", "box"]);
      await world.ok(["snapshot", "--name", "s", "box"]);
      expect(holds(copyOf(world, "s"), SECRET)).toBe(false);
      await world.ok(["restore", "s", "again"]);
      const seen = await world.ak(["exec", "again", "sh", "-c", "cat .env /opt/copy/.env a.txt"]);
      expect(seen.stdout).toBe("changed\n");
    });
  });
});
