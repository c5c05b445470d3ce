/**
 * A hostile layer in both worlds: unpacked by a program that believes archives, as the actor, where it must do its
 * damage; and pulled and unpacked by the real command line, where it must not.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "../../support/actors.js";
import type { ScriptedRegistry } from "../../support/registry-scripted.js";
import type { CliResult } from "../../support/run-cli.js";
import { busyboxTar, imageOf, TestStore } from "../../support/served-images.js";
import { type TarItem, tarOf } from "../../support/tar-maker.js";
import { runOutside } from "./fs-attack.js";
import { plant, snapshot } from "./fs-tree.js";
import { own } from "./process-programs.js";

/** Makes what the archive says where it says, and applies whiteouts by their names. */
const believer = `
import os, shutil, sys, tarfile
os.umask(0)
os.chdir(sys.argv[2])
archive = tarfile.open(sys.argv[1])
for member in archive:
    folder, name = os.path.split(member.name)
    if name.startswith(".wh."):
        victim = os.path.join(folder, name[4:])
        shutil.rmtree(victim) if os.path.isdir(victim) else os.unlink(victim)
    elif member.islnk():
        os.link(member.linkname, member.name)
    else:
        archive.extract(member, ".", **({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}))
        if member.isreg():
            os.chmod(member.name, member.mode)
`;

export interface Area {
  /** Where an archive is unpacked to. */
  readonly root: string;
  readonly canary: string;
  /** The area and all in it, the unpacked root left out. */
  snapshot(): unknown;
}

export function makeArea(actor: Actor): Area {
  const path = plant(actor, actor.folder("area"), { "canary/file": "original", "canary/inner/deep": "original" });
  // Readable by others, as an image's files are.
  chmodSync(path, 0o755);
  const root = join(path, "root");
  mkdirSync(root);
  own(actor, root);
  return { root, canary: join(path, "canary"), snapshot: () => snapshot(join(path, "canary")) };
}

export async function believe(actor: Actor, area: Area, items: readonly TarItem[]): Promise<void> {
  const tar = join(actor.folder("archive"), "layer.tar");
  writeFileSync(tar, tarOf(items));
  const { status, stderr } = await runOutside(actor, ["python3", "-c", believer, tar, area.root], area.root);
  if (status !== 0) throw new Error(`the believer failed: ${stderr}`);
}

interface HostileRun {
  readonly result: CliResult;
  readonly store: TestStore;
}

/** A bare image with the layer on top, run by name. */
export async function runHostile(
  actor: Actor,
  registry: ScriptedRegistry,
  tar: Buffer,
  { command = ["true"], env = {} }: { command?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<HostileRun> {
  const image = imageOf({ tars: [busyboxTar(), tar] });
  registry.addImage("library/hostile", "1", image);
  const store = new TestStore(actor, registry.host);
  const result = await store.run(["--image", "hostile:1", ...command], { env });
  return { result, store };
}
