/**
 * A Debian image of several layers, made once for all tests of a run: a real root at the bottom, above it layers that
 * add, replace and delete, with everything that archives of layers can hold.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostPlatform } from "../../src/images/platform.js";
import { smallestRoot } from "./debian-root.js";
import { type MadeImage, makeImage, sha256 } from "./registry-image.js";
import { writeLayout } from "./registry-push.js";
import { file, folder, hardlink, symlink, type TarItem, tarOf } from "./tar-maker.js";
import { testFolder } from "./test-folder.js";

const GZIPPED = "application/vnd.oci.image.layer.v1.tar+gzip";
export const TAG = "1";

export interface DebianImage {
  /** An OCI layout with one image. */
  readonly layout: string;
  readonly image: MadeImage;
}

const capability = Buffer.from([1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).toString("latin1");

const additions: readonly TarItem[] = [
  { ...folder("opt/team", 0o2770), uid: 1234, gid: 5678, mtime: 1_500_000_001 },
  { ...file("opt/team/file", "several owners", 0o640), uid: 1234, gid: 5678 },
  { ...file("opt/theirs", "several owners", 0o600), uid: 33, gid: 33 },
  { ...symlink("opt/team/link", "../../etc/debian_version"), uid: 7, gid: 7, mtime: 1_500_000_002 },
  hardlink("opt/team/again", "opt/team/file"),
  { ...file("opt/set", "x", 0o6755), mtime: 1_400_000_000 },
  { ...file("opt/fine-time", ""), pax: { mtime: "1500000000.123456789" } },
  { ...file("opt/attributes", ""), pax: { "SCHILY.xattr.user.note": "one\ntwo" } },
  { ...file("opt/capable", "", 0o755), pax: { "SCHILY.xattr.security.capability": capability } },
  { name: "opt/pipe", kind: "6", mode: 0o622 },
  folder(`opt/${"long-".repeat(40)}`),
  file(`opt/${"long-".repeat(40)}/${"name-".repeat(50)}`, "long"),
  file("opt/deleted-later", ""),
  folder("opt/replaced-by-file"),
  file("opt/replaced-by-file/inner", ""),
  file("opt/replaced-by-folder", "file"),
  symlink("opt/replaced-by-both", "nowhere"),
  folder("opt/opaque"),
  file("opt/opaque/old", ""),
  // Through a link of the layer below: /bin is usr/bin.
  file("bin/added", "#!/bin/sh\necho added\n", 0o755),
];

const changes: readonly TarItem[] = [
  file("etc/.wh.issue", ""),
  file("usr/share/.wh.doc", ""),
  file("opt/.wh.deleted-later", ""),
  file("opt/replaced-by-file", "now a file"),
  folder("opt/replaced-by-folder", 0o711),
  file("opt/replaced-by-folder/inner", "now a folder"),
  folder("opt/replaced-by-both"),
  folder("opt/opaque"),
  file("opt/opaque/.wh..wh..opq", ""),
  file("opt/opaque/new", ""),
  { ...file("etc/debian_version", "replaced\n"), mtime: 1_300_000_000 },
  hardlink("opt/version", "etc/debian_version"),
  file("bin/.wh.added", ""),
  { ...folder("srv", 0o1777), mtime: 1_200_000_000 },
];

export async function debianImage(): Promise<DebianImage> {
  const base = join(testFolder(), "debian");
  const layout = join(base, "layout");
  if (!existsSync(join(base, "done"))) {
    rmSync(base, { recursive: true, force: true });
    mkdirSync(base);
    const tar = smallestRoot();
    execFileSync("sh", ["-c", 'gzip -1 <"$0" >"$1"', tar, join(base, "root.tar.gz")]);
    writeFileSync(join(base, "diff-id"), await digestOfFile(tar));
    writeFileSync(join(base, "done"), "");
  }
  const upper = [tarOf(additions), tarOf(changes)];
  const image = makeImage({
    layers: [
      readFileSync(join(base, "root.tar.gz")),
      ...upper.map((tar) => execFileSync("gzip", ["-1"], { input: tar })),
    ],
    layerType: GZIPPED,
    diffIds: [readFileSync(join(base, "diff-id"), "utf8"), ...upper.map((tar) => sha256(tar))],
    architecture: hostPlatform().architecture,
    config: { Cmd: ["/bin/sh"] },
  });
  writeLayout(layout, TAG, image.manifest, [image]);
  return { layout, image };
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

/** A package that is made here: its only file says that it is installed. */
export function localPackage(folderPath: string): string {
  const source = join(folderPath, "package");
  mkdirSync(join(source, "DEBIAN"), { recursive: true });
  mkdirSync(join(source, "usr", "bin"), { recursive: true });
  const fields = ["Package: local-tool", "Version: 1.0", "Architecture: all", "Maintainer: nobody <nobody@localhost>"];
  writeFileSync(join(source, "DEBIAN", "control"), `${fields.join("\n")}\nDescription: made by a test\n`);
  writeFileSync(join(source, "usr", "bin", "local-tool"), "#!/bin/sh\necho installed\n", { mode: 0o755 });
  const path = join(folderPath, "local.deb");
  execFileSync("dpkg-deb", ["--root-owner-group", "--build", source, path], { stdio: "pipe" });
  rmSync(source, { recursive: true });
  return path;
}
