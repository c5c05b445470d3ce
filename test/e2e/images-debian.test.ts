/** A real distribution of several layers: unpacked as others unpack it, and used as people use it. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors, root } from "../support/actors.js";
import { type DebianImage, debianImage, localPackage, TAG } from "../support/debian-image.js";
import { pushLayout } from "../support/registry-push.js";
import { RealRegistry } from "../support/registry-real.js";
import { TestStore } from "../support/served-images.js";

const IMAGE = "debian:bookworm";

let registry: RealRegistry;
let debian: DebianImage;
beforeAll(async () => {
  debian = await debianImage();
  registry = await RealRegistry.start();
  await pushLayout(debian.layout, TAG, `${registry.host}/library/${IMAGE}`);
}, 180_000);
afterAll(async () => registry?.stop());

/** Every path with all that is known of it. Device nodes are left out: images bring none into a sandbox. */
const listing = `
import hashlib, json, os, stat, sys
found = {}
def look(path, name):
    s = os.lstat(path)
    if stat.S_ISCHR(s.st_mode) or stat.S_ISBLK(s.st_mode):
        return
    about = [oct(s.st_mode), s.st_uid, s.st_gid, s.st_mtime_ns]
    if stat.S_ISLNK(s.st_mode):
        about.append(os.readlink(path))
    else:
        about.append({k: os.getxattr(path, k).hex() for k in sorted(os.listxattr(path)) if not k.startswith("security.selinux")})
    if stat.S_ISREG(s.st_mode):
        about += [s.st_nlink, s.st_size, hashlib.sha256(open(path, "rb").read()).hexdigest()]
    found[name] = about
    if stat.S_ISDIR(s.st_mode):
        for inner in os.listdir(path):
            look(os.path.join(path, inner), name + "/" + inner)
look(sys.argv[1], "")
json.dump(found, sys.stdout)
`;

function listed(argv: readonly string[]): Readonly<Record<string, unknown>> {
  const [program = "", ...words] = argv;
  return JSON.parse(execFileSync(program, words, { encoding: "utf8", maxBuffer: 2 ** 28 }));
}

describe("a Debian image of several layers", () => {
  // Only root can give files to others, so only root's umoci makes what the image says.
  it.runIf(root !== undefined)("is file for file what umoci makes of it", async () => {
    if (root === undefined) return;
    const store = new TestStore(root, registry.host);
    expect(await store.run(["--image", IMAGE, "true"])).toMatchObject({ status: 0 });
    const bundle = join(root.folder("umoci"), "bundle");
    execFileSync("umoci", ["unpack", "--image", `${debian.layout}:${TAG}`, bundle], { stdio: "pipe" });
    const theirs = listed(["python3", "-c", listing, join(bundle, "rootfs")]);

    const layers = layersOf(store);
    const mount = `mount -t overlay overlay -o ro,userxattr,lowerdir=${layers.join(":")} /mnt && exec python3 -c "$0" /mnt`;
    const ours = listed(["unshare", "--mount", "sh", "-c", mount, listing]);
    expect(Object.keys(ours).length).toBeGreaterThan(3000);
    expect(differences(ours, theirs)).toEqual([]);
  });

  describe.each(actors)("as $name", (actor) => {
    it("has users, owners and a package manager that work", async () => {
      const store = new TestStore(actor, registry.host);
      const cwd = actor.folder();
      const made = localPackage(cwd);
      for (const path of [cwd, made]) {
        chmodSync(path, 0o755);
        if (process.getuid?.() === 0) chownSync(path, actor.uid, actor.gid);
      }
      writeFileSync(
        join(cwd, "use.sh"),
        [
          "set -e",
          "stat -c '%u:%g %a %n' /opt/team /opt/team/file /opt/theirs /opt/set",
          "su -s /bin/sh www-data -c 'id -un; cat /opt/theirs; cat /opt/team/file 2>/dev/null || echo denied'",
          "touch /tmp/mine && chown 1234:5678 /tmp/mine && stat -c %u:%g /tmp/mine",
          "apt-get install -y ./local.deb >/tmp/log 2>&1 || cat /tmp/log",
          "local-tool && dpkg -s local-tool | grep ^Status",
          "! test -e /etc/issue && ! test -e /usr/share/doc && cat /etc/debian_version",
        ].join("\n"),
      );
      const { status, stdout, stderr } = await store.run(["--image", IMAGE, "sh", "use.sh"], { cwd });
      expect(stdout.split("\n"), stderr).toEqual([
        "1234:5678 2770 /opt/team",
        "1234:5678 640 /opt/team/file",
        "33:33 600 /opt/theirs",
        "0:0 6755 /opt/set",
        "www-data",
        "several ownersdenied",
        "1234:5678",
        "installed",
        "Status: install ok installed",
        "replaced",
        "",
      ]);
      expect(status).toBe(0);
    });
  });
});

/** The uppermost first, as the store's own note says. */
function layersOf(store: TestStore): readonly string[] {
  const [name = ""] = store.names("ready");
  const { layers } = JSON.parse(execFileSync("cat", [join(store.root, "ready", name)], { encoding: "utf8" })) as {
    layers: readonly string[];
  };
  return layers.map((layer) => join(store.root, "layers", layer, "fs"));
}

function differences(ours: Readonly<Record<string, unknown>>, theirs: Readonly<Record<string, unknown>>): unknown[] {
  const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...names]
    .filter((name) => JSON.stringify(ours[name]) !== JSON.stringify(theirs[name]))
    .sort()
    .map((name) => ({ name, ours: ours[name], theirs: theirs[name] }));
}
