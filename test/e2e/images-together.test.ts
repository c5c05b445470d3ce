/** Many processes and one image store: killed at any moment, at the same time, and while images are removed. */
import { readdirSync, statSync } from "node:fs";
import { watch } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ImageStore, parseReference } from "../../src/images/index.js";
import { actors } from "../support/actors.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { noise } from "../support/registry-image.js";
import { ScriptedRegistry } from "../support/registry-scripted.js";
import { runOutside } from "../support/run-as.js";
import { runCli } from "../support/run-cli.js";
import { busyboxTar, imageOf, marker, TestStore } from "../support/served-images.js";
import { file, folder, tarOf } from "../support/tar-maker.js";
import { WatchedCli } from "../support/watched-cli.js";

const NAME = "team/app:1";
const LAYERS = 4;
const FOLDERS = ["blobs/sha256", "partial", "refs", "pins", "ready", "layers", "unpacking"];

let registry: ScriptedRegistry;

beforeAll(async () => {
  registry = await ScriptedRegistry.start();
  const many = tarOf([folder("many"), ...Array.from({ length: 300 }, (_, index) => file(`many/${index}`, "some"))]);
  const large = tarOf([file("large", noise(8 * 2 ** 20, "large"))]);
  const tars = [busyboxTar(), many, large, tarOf([...marker("usr/bin/tool", "whole"), file("many/.wh.7", "")])];
  registry.addImage("team/app", "1", imageOf({ tars }));
});
afterAll(async () => registry.stop());
beforeEach(() => {
  registry.seen.length = 0;
  registry.script = () => false;
});

const words = (...command: string[]): readonly string[] => ["run", "--no-network", "--image", NAME, ...command];

/** Resolves as soon as a folder of the store has so many entries. */
async function untilEntries(store: TestStore, name: string, count: number, signal: AbortSignal): Promise<void> {
  const path = join(store.root, name);
  const changes = watch(path, { signal });
  if (readdirSync(path).length >= count) return;
  try {
    for await (const _change of changes) if (readdirSync(path).length >= count) return;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Resolves when the registry is asked for the so-many-th time. */
function untilRequest(count: number): Promise<void> {
  return new Promise((resolve) => {
    registry.script = () => {
      if (registry.seen.length >= count) resolve();
      return false;
    };
  });
}

/** An empty store whose folders can be watched before the first process opens it. */
function watchedStore(actor: (typeof actors)[number]): TestStore {
  const store = new TestStore(actor, registry.host);
  for (const name of FOLDERS) runOutside(actor, ["mkdir", "-p", "-m", "700", join(store.root, name)]);
  return store;
}

type Moment = (store: TestStore, signal: AbortSignal) => Promise<void>;

const moments: readonly [string, Moment][] = [
  ...[1, 3, 6].map((n): [string, Moment] => [`at its request number ${n}`, () => untilRequest(n)]),
  ...(
    [
      ["pins", 1],
      ["blobs/sha256", 3],
      ["unpacking", 1],
      ["unpacking", 2],
      ["unpacking", 4],
      ["layers", 1],
      ["layers", LAYERS],
      ["ready", 1],
    ] as const
  ).map(([name, count]): [string, Moment] => [
    `with ${count} in ${name}`,
    (store, signal) => untilEntries(store, name, count, signal),
  ]),
];

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();

  it("killed at any moment of pulling and unpacking, the next run works and nothing is left", async () => {
    for (const [when, moment] of moments) {
      registry.seen.length = 0;
      const store = watchedStore(actor);
      const stop = new AbortController();
      const reached = moment(store, stop.signal);
      const killed = new WatchedCli(actor, words("tool"), { env: store.env, cwd: actor.folder() });
      await Promise.race([reached, killed.end]);
      killed.child.kill("SIGKILL");
      await killed.end;
      stop.abort();
      registry.script = () => false;

      const next = await store.run(["--image", NAME, "sh", "-c", "tool && ls /many | wc -l"]);
      expect(next.stdout, `${when}: ${next.stderr}`).toMatch(/^whole \n299\n$/);
      const pruned = await runCli(actor, ["images", "prune"], { env: store.env, cwd: actor.folder() });
      expect(pruned.status, pruned.stderr).toBe(0);
      expect(store.names("layers"), when).toHaveLength(LAYERS);
      for (const name of ["unpacking", "partial", "pins"]) expect(store.names(name), `${when}: ${name}`).toEqual([]);
    }
  }, 180_000);

  it("what a killed process left half unpacked is gone after the next run that unpacks", async () => {
    const store = watchedStore(actor);
    // Of an earlier boot, so of a process that cannot live any more.
    const left = join(store.root, "unpacking", "0123456789ab-1-1-1.left");
    runOutside(actor, ["mkdir", "-p", join(left, "fs", "folder")]);
    expect(store.names("unpacking")).toHaveLength(1);
    expect((await store.run(["--image", NAME, "tool"])).stdout).toBe("whole \n");
    expect(store.names("unpacking")).toEqual([]);
  });

  it("two runs at once pull every blob once and unpack every layer once", async () => {
    const store = new TestStore(actor, registry.host);
    const results = await Promise.all([1, 2].map((n) => store.run(["--image", NAME, "tool", String(n)])));
    expect(results.map(({ stdout }) => stdout)).toEqual(["whole 1\n", "whole 2\n"]);
    const blobs = registry.requestsFor("/blobs/").map(({ url }) => url);
    expect(blobs).toHaveLength(new Set(blobs).size);
    expect(blobs).toHaveLength(LAYERS + 1);
    expect(store.unpackedThings()).toMatchObject({ unpacking: [], ready: [expect.any(String)] });
    expect(store.names("layers")).toHaveLength(LAYERS);
  });

  it("twenty sandboxes at once stand on the same files", async () => {
    const store = new TestStore(actor, registry.host);
    await store.run(["--image", NAME, "true"]);
    const runs = Array.from({ length: 20 }, () => {
      const run = new WatchedCli(actor, words("sh", "-c", "stat -c 'file %i' /large; echo x >/large; read line"), {
        env: store.env,
        cwd: actor.folder(),
      });
      return run;
    });
    const files = await Promise.all(runs.map((run) => run.until(/file (\d+)\n/)));
    expect(store.names("layers")).toHaveLength(LAYERS);
    expect(store.names("pins")).toHaveLength(20);
    expect(new Set(files.map(([, inode]) => inode)).size).toBe(1);
    for (const run of runs) run.type("\n");
    for (const run of runs) expect(await run.end).toMatchObject({ status: 0 });
    expect(store.names("pins")).toEqual([]);
    const sizes = store.names("layers").map((layer) => sizeOf(join(store.root, "layers", layer, "fs", "large")));
    expect(sizes.filter((size) => size !== null)).toEqual([8 * 2 ** 20]);
  });

  // A store is only opened by its owner, which this process is of root's.
  const isOwner = actor.uid === process.getuid?.();

  it.runIf(isOwner)(
    "an image that is removed and cleared away keeps its sandboxes working, and goes when they end",
    async () => {
      const store = new TestStore(actor, registry.host);
      const run = new WatchedCli(actor, words("sh", "-c", "echo up; read line; tool; ls /many | wc -l"), {
        env: store.env,
        cwd: actor.folder(),
      });
      await run.until(/up\n/);
      const opened = await ImageStore.open(store.root);
      expect(await opened.remove(parseReference(NAME))).toHaveLength(1);
      await opened.clear();
      expect(store.names("layers")).toHaveLength(LAYERS);
      run.type("\n");
      expect(await run.end).toMatchObject({ status: 0, stdout: "up\nwhole \n299\n" });
      await opened.clear();
      expect(store.unpackedThings()).toEqual({ ready: [], layers: [], unpacking: [] });
      expect(store.names("blobs/sha256")).toEqual([]);
      expect((await store.run(["--image", NAME, "tool"])).stdout).toBe("whole \n");
    },
  );

  it.runIf(isOwner)("clearing again and again does not disturb runs that pull and unpack", async () => {
    const store = watchedStore(actor);
    // The store's own files are the actor's.
    await store.run(["--image", NAME, "true"]);
    let isOver = false;
    const clearing = (async () => {
      const opened = await ImageStore.open(store.root);
      while (!isOver) await opened.clear();
    })();
    try {
      for (const attempt of [1, 2, 3]) {
        const { stdout, stderr } = await store.run(["--image", NAME, "--pull", "always", "tool", String(attempt)]);
        expect(stdout, stderr).toBe(`whole ${attempt}\n`);
      }
    } finally {
      isOver = true;
      await clearing;
    }
  });
});

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}
