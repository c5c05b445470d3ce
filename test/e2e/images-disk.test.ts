/** Images as disks for machines with a kernel of their own: made once, whole or not at all, gone with their image. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ImageStore, importImage, parseReference, parseSource } from "../../src/images/index.js";
import { ensureRootImage, verifyRootImage } from "../../src/images/root-image.js";
import { layerFolder } from "../../src/images/store/ready.js";
import { makeImage } from "../support/registry-image.js";
import { writeLayout } from "../support/registry-push.js";
import { tarArchive } from "../support/tar-archive.js";

const platform = { os: "linux", architecture: "amd64", variant: null };
let folder = "";
let store: ImageStore;
let layers: readonly string[] = [];
const cache = () => join(folder, "cache");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentkernel-disk-"));
  store = await ImageStore.open(join(folder, "store"));
  const below = tarArchive([
    { name: "kept", content: "below" },
    { name: "gone", content: "x" },
  ]);
  const above = tarArchive([
    { name: ".wh.gone", content: "" },
    { name: "new", content: "above" },
  ]);
  const layout = join(folder, "layout");
  const made = makeImage({ layers: [below, above] });
  writeLayout(layout, "disk.test/one:1", made.manifest, [made]);
  const { record } = await importImage(parseSource(`oci:${layout}`), {
    store,
    platform,
    env: {},
    stdin: async function* nothing() {},
    packBinary: () => "",
  });
  const ready = await store.unpacked.makeReady(record);
  layers = ready.layers.map((layer) => layerFolder(join(folder, "store"), layer));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function filesOn(disk: string): Readonly<Record<string, string>> {
  const out = mkdtempSync(join(folder, "extracted-"));
  const { status, stderr } = spawnSync("fsck.erofs", [`--extract=${out}/root`, disk], { encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return Object.fromEntries(
    readdirSync(`${out}/root`).map((name) => [name, readFileSync(join(out, "root", name), "utf8")]),
  );
}

it("is made once by however many ask, and is what the layers are together", async () => {
  const all = await Promise.all([1, 2, 3].map(() => ensureRootImage(layers, cache())));
  expect(new Set(all.map(({ digest }) => digest)).size).toBe(1);
  const [disk] = all;
  if (disk === undefined) throw new Error("no disk");
  expect(filesOn(disk.path)).toEqual({ kept: "below", new: "above" });
  await verifyRootImage(disk);
  expect(readdirSync(join(folder, "store/unpacking"))).toEqual([]);
  const listed = (await store.list())[0];
  expect(listed?.unpackedBytes).toBeGreaterThan(disk.bytes);
});

it("that was cut is made again, and one that was changed is told", async () => {
  const disk = await ensureRootImage(layers, cache());
  truncateSync(disk.path, 512);
  const again = await ensureRootImage(layers, cache());
  expect(again).toEqual(disk);
  expect(filesOn(again.path)).toEqual({ kept: "below", new: "above" });
  const bytes = readFileSync(disk.path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(disk.path, bytes);
  await expect(verifyRootImage(disk)).rejects.toThrow("and was made with");
});

it("of a folder of the user's own lies elsewhere, and follows what is in the folder", async () => {
  const own = join(folder, "own");
  mkdirSync(join(own, "bin"), { recursive: true });
  writeFileSync(join(own, "name"), "first");
  const first = await ensureRootImage([own], cache());
  expect(readdirSync(own).sort()).toEqual(["bin", "name"]);
  expect(await ensureRootImage([own], cache())).toEqual(first);
  writeFileSync(join(own, "name"), "later");
  const later = await ensureRootImage([own], cache());
  expect(later.digest).not.toBe(first.digest);
  expect(readFileSync(later.path).includes("later")).toBe(true);
});

it("leaves with its image", async () => {
  const { path } = await ensureRootImage(layers, cache());
  await store.clear();
  expect(existsSync(path)).toBe(true);
  for (const { record } of await store.list()) await store.remove(parseReference(record.reference));
  await store.clear();
  expect(existsSync(path)).toBe(false);
  expect(existsSync(dirname(path))).toBe(false);
});
