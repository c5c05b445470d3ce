/**
 * Layers that try to write, link, remove or hide something outside of the image. There are no uploads yet: they come
 * with the file interface, and their attacks with them.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors, root, user } from "../../support/actors.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { ScriptedRegistry } from "../../support/registry-scripted.js";
import { NOTHING_UNPACKED, TestStore } from "../../support/served-images.js";
import { file, folder, hardlink, symlink, type TarItem, tarOf } from "../../support/tar-maker.js";
import { runOutside } from "../support/fs-attack.js";
import { type Area, believe, makeArea, runHostile } from "../support/hostile-image.js";
import { compile } from "../support/process-programs.js";

let registry: ScriptedRegistry;
beforeAll(async () => {
  registry = await ScriptedRegistry.start();
});
afterAll(async () => registry.stop());

interface Trick {
  readonly what: string;
  /** Paths are seen from the folder that the layer is unpacked to; the canary is its neighbour. */
  readonly items: (area: Area) => readonly TarItem[];
  /** Refused with these words, or harmless: all of it stays in the image. */
  readonly refused: RegExp | null;
}

const UP = "../".repeat(12);

const tricks: readonly Trick[] = [
  { what: "a name that leads upwards", items: () => [file("../canary/file", "attacked")], refused: /leads upwards/ },
  {
    what: "a name that leads upwards behind a folder",
    items: () => [folder("a"), file("a/../../canary/file", "attacked")],
    refused: /leads upwards/,
  },
  { what: "an absolute name", items: ({ canary }) => [file(`${canary}/file`, "attacked")], refused: null },
  {
    what: "a link to an absolute path, then a file through it",
    items: ({ canary }) => [symlink("out", canary), file("out/file", "attacked")],
    refused: /no directory/,
  },
  {
    what: "a link upwards, then a file through it",
    items: ({ canary }) => [symlink("out", `${UP}${canary.slice(1)}`), file("out/made", "attacked")],
    refused: /no directory/,
  },
  {
    what: "a link to a folder, then a name behind it that leads upwards",
    items: ({ canary }) => [symlink("x", `${canary}/inner`), file("x/../file", "attacked")],
    refused: /leads upwards/,
  },
  {
    what: "links to links, then a file through them",
    items: ({ canary }) => [
      symlink("a", canary),
      symlink("b", "a"),
      symlink("c", "b/inner"),
      file("c/deep", "attacked"),
    ],
    refused: /no directory/,
  },
  {
    what: "a hard link upwards, written to afterwards",
    items: () => [hardlink("x", "../canary/file"), file("x", "attacked")],
    refused: /leads upwards/,
  },
  {
    what: "a hard link to an absolute path, written to afterwards",
    items: ({ canary }) => [hardlink("x", `${canary}/file`), file("x", "attacked")],
    refused: /not there/,
  },
  {
    what: "a hard link through a folder that is a link",
    items: ({ canary }) => [symlink("out", canary), hardlink("x", "out/file"), file("x", "attacked")],
    refused: /not there/,
  },
  {
    what: "a hard link that is made in a folder that is a link",
    items: ({ canary }) => [symlink("out", canary), file("mine", "attacked"), hardlink("out/made", "mine")],
    refused: /no directory/,
  },
  {
    what: "a whiteout behind a link",
    items: ({ canary }) => [symlink("o", canary), file("o/.wh.file", "")],
    refused: /no directory/,
  },
  { what: "a whiteout that leads upwards", items: () => [file("../canary/.wh.file", "")], refused: /leads upwards/ },
];

describe("F6 layers write nothing outside of their image", () => {
  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();

    it.each(tricks)("$what", async ({ items, refused }) => {
      const area = makeArea(actor);
      const before = area.snapshot();
      await believe(actor, area, items(area));
      expect(area.snapshot(), "believed, it does damage").not.toEqual(before);

      const fresh = makeArea(actor);
      const { result, store } = await runHostile(actor, registry, tarOf(items(fresh)));
      expect(fresh.snapshot()).toEqual(before);
      if (refused === null) {
        expect(result).toMatchObject({ status: 0 });
      } else {
        expect(result.stderr).toMatch(refused);
        expect(result.stderr).toMatch(/^agentkernel: image \S+: a layer of the image cannot be unpacked: /m);
        expect(result.status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      }
    });

    it.each([[".wh.."], [".wh..."], ["a/.wh.."], ["a/.wh..."]])(
      "the whiteout %s, which names a folder around it",
      async (name) => {
        const area = makeArea(actor);
        // A whiteout of the folder above takes everything, the unpacked root and its neighbours.
        if (name === ".wh...") {
          await believe(actor, area, [folder("a"), file(name, "")]).catch(() => {});
          expect(() => statSync(join(area.canary, "file"))).toThrow(/ENOENT/);
        }
        const fresh = makeArea(actor);
        const before = fresh.snapshot();
        const { result, store } = await runHostile(actor, registry, tarOf([folder("a"), file(name, "")]));
        expect(result.status).toBe(125);
        expect(result.stderr).toMatch(/hides no name/);
        expect(fresh.snapshot()).toEqual(before);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      },
    );

    it("device nodes are not made", async () => {
      const items: readonly TarItem[] = [
        { name: "random", kind: "3", mode: 0o666 },
        { name: "disk", kind: "4", mode: 0o666 },
        { name: "whiteout", kind: "3", mode: 0 },
      ];
      // Only root can make devices at all.
      if (actor.name === "root") {
        const area = makeArea(actor);
        await believe(actor, area, items);
        expect(statSync(join(area.root, "random")).isCharacterDevice()).toBe(true);
      }
      const { result } = await runHostile(actor, registry, tarOf(items), { command: ["ls", "/"] });
      expect(result.status).toBe(0);
      expect(result.stdout.split("\n")).not.toEqual(expect.arrayContaining(["random"]));
      expect(result.stdout).not.toMatch(/random|disk|whiteout/);
    });

    it("a setuid program gives nothing to who runs it", async () => {
      const program = readFileSync(compile("process/identity"));
      const items = [file("identity", program, 0o6755), file("plain", program, 0o755)];
      const area = makeArea(actor);
      await believe(actor, area, items);
      expect(statSync(join(area.root, "identity")).mode & 0o7777).toBe(0o6755);
      // Only with root's file and another user to run it does it show what it could do.
      if (actor.name === "root" && user !== undefined) {
        const outside = await runOutside(user, [join(area.root, "identity")], "/");
        expect(outside.stdout).toMatch(/^euid 0 egid 0$/m);
      }
      const { result, store } = await runHostile(actor, registry, tarOf(items), {
        command: ["--user", "1000", "-w", "/", "/identity"],
      });
      expect(result.stdout, result.stderr).toMatch(/^euid 1000 egid 1000$/m);
      // Nor can another user of this machine reach it in the store.
      if (actor.name === "root" && user !== undefined) {
        const [layer = ""] = store.names("layers");
        const reached = await runOutside(user, ["ls", join(store.root, "layers", layer, "fs")], "/");
        expect(reached.stderr).toMatch(/Permission denied/);
      }
    });

    it.each(["opaque", "redirect", "whiteout", "metacopy"])(
      "the union filesystem's attribute %s is not taken",
      async (name) => {
        const trick = { ...folder("etc"), pax: { [`SCHILY.xattr.user.overlay.${name}`]: "y" } };
        const { result, store } = await runHostile(actor, registry, tarOf([trick]));
        expect(result.stderr).toMatch(new RegExp(`sets the attribute "user.overlay.${name}"`));
        expect(result.status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      },
    );

    it("names that are too long, too deep or in circles are refused, and what was begun is removed", async () => {
      const deep = (count: number) => Array.from({ length: count }, () => "d").join("/");
      // Each link lies at the end of the folders that the one before led to.
      const nested = [0, 1, 2, 3].flatMap((step) => [
        folder(step === 0 ? deep(150) : `l${step - 1}/${deep(150)}`),
        symlink(`l${step}`, step === 0 ? deep(150) : `l${step - 1}/${deep(150)}`),
      ]);
      const cases: readonly [readonly TarItem[], RegExp][] = [
        [[file("n".repeat(300), "")], /more than 255 bytes/],
        [[file(deep(401), "")], /too deep/],
        [[file(Array.from({ length: 25 }, () => "n".repeat(200)).join("/"), "")], /more than 4095 bytes/],
        [[symlink("a", "b"), symlink("b", "a"), file("a/x", "")], /circle/],
        [nested, /too deep|no directory/],
        [[symlink("self", "self/self"), file("self/x", "")], /circle/],
      ];
      for (const [items, words] of cases) {
        const { result, store } = await runHostile(actor, registry, tarOf(items));
        expect(result.stderr).toMatch(words);
        expect(result.status).toBe(125);
        expect(store.unpackedThings()).toEqual(NOTHING_UNPACKED);
      }
    });
  });

  it.runIf(root !== undefined)("what root unpacks is closed to every other user of the machine", async () => {
    if (root === undefined) return;
    const store = new TestStore(root, registry.host);
    await store.run(["--image", "hostile:1", "true"]);
    for (const name of ["layers", "unpacking", "ready"]) {
      expect(statSync(join(store.root, name)).mode & 0o077).toBe(0);
    }
  });
});
