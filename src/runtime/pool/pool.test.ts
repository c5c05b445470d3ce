import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Backend, BootedSandbox, BootSpec, SandboxEnd, WarmSandbox, WarmShape } from "../../core/backend.js";
import { deferred } from "../../core/deferred.js";
import { resolve } from "../../policy/resolve.js";
import { WarmPool } from "./index.js";
import { pooledBackend } from "./pooled-backend.js";

class FakeWarm implements WarmSandbox {
  readonly over: Promise<void>;
  isDiscarded = false;
  refuses = false;
  taken = 0;
  readonly prescans: [number, string][] = [];
  die: () => void = () => {};
  readonly #booted: BootedSandbox;

  constructor(booted: BootedSandbox) {
    this.#booted = booted;
    this.over = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  async take(): Promise<BootedSandbox> {
    this.taken++;
    if (this.refuses) throw new Error("out of date");
    this.die();
    return this.#booted;
  }

  prescan(number: number, folder: string): void {
    this.prescans.push([number, folder]);
  }

  async discard(): Promise<void> {
    this.isDiscarded = true;
    this.die();
  }
}

/** A backend whose shapes are the hostnames of specs. */
class FakeWorld {
  readonly built: FakeWarm[] = [];
  /** Builds take until this settles. */
  ready: Promise<void> = Promise.resolve();
  /** The last that was built with. */
  givenUp: AbortSignal | null = null;
  /** Of the sandboxes that are booted from now on. */
  removed: Promise<void> | undefined;
  readonly cold: string[] = [];
  failure: Error | null = null;
  readonly #ends: (() => void)[] = [];

  readonly backend: Backend = {
    name: "linux",
    lacks: [],
    boot: async ({ id }) => {
      this.cold.push(id);
      return this.#booted();
    },
    shapeOf: ({ hostname }) => this.shape(hostname),
  };

  shape(key: string): WarmShape {
    return {
      key,
      label: key,
      build: async (signal) => {
        if (this.failure) throw this.failure;
        this.givenUp = signal;
        await this.ready;
        const warm = new FakeWarm(this.#booted());
        this.built.push(warm);
        return warm;
      },
    };
  }

  endAll(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #booted(): BootedSandbox {
    const ended = new Promise<SandboxEnd>((resolve) => this.#ends.push(() => resolve({} as SandboxEnd)));
    const removed = this.removed === undefined ? {} : { removed: this.removed };
    const stream = {} as BootedSandbox["stream"];
    return { stream, layers: [], ended, ...removed, finish: () => ended, kill: () => ended };
  }
}

const { policy } = resolve({});
const spec = (id: string, hostname = "plain"): BootSpec => ({
  id,
  hostname,
  policy,
  image: { kind: "host" },
  projectDir: null,
  homeDir: null,
});

let world = new FakeWorld();
let faults: unknown[] = [];
let pool = new WarmPool({ freeBytes: () => 0, onFault: () => {} });
let backend = world.backend;
beforeEach(() => {
  vi.useFakeTimers();
  world = new FakeWorld();
  faults = [];
  pool = new WarmPool({ freeBytes: () => 2 ** 33, onFault: (fault) => faults.push(fault) });
  backend = pooledBackend(world.backend, pool);
});
afterEach(async () => {
  vi.useRealTimers();
  await pool.close();
});

/** A whole run, and a rest after it. */
async function run(id: string, hostname?: string): Promise<void> {
  const answer = pool.serve();
  await backend.boot(spec(id, hostname));
  world.endAll();
  answer();
  await vi.advanceTimersByTimeAsync(1000);
}

describe("a folder that was shown before", () => {
  const inFolder = async (id: string, projectDir: string, hostname?: string): Promise<void> => {
    const answer = pool.serve();
    await backend.boot({ ...spec(id, hostname), projectDir });
    world.endAll();
    answer();
    await vi.advanceTimersByTimeAsync(1000);
  };

  it("is looked at by the sandbox that the next caller from there would get, each time under another number", async () => {
    await inFolder("a", "/p");
    expect(pool.prescan("/p")).toBe(1);
    expect(pool.prescan("/p")).toBe(2);
    expect(world.built[0]?.prescans).toEqual([
      [1, "/p"],
      [2, "/p"],
    ]);
    await backend.boot({ ...spec("b"), projectDir: "/p" });
    expect(world.built[0]?.taken).toBe(1);
  });

  it("is looked at by one of the kind that was used there last", async () => {
    await inFolder("a", "/p", "first");
    await inFolder("b", "/p", "second");
    pool.prescan("/p");
    const lookers = world.built.filter(({ prescans }) => prescans.length > 0);
    await backend.boot({ ...spec("c", "second"), projectDir: "/p" });
    expect(lookers.map(({ taken }) => taken)).toEqual([1]);
  });

  it("is looked at for whoever calls right after, and that look serves a caller from there alone", async () => {
    await inFolder("a", "/p");
    pool.prescanAnother();
    expect(world.built.flatMap(({ prescans }) => prescans)).toEqual([]);
    await backend.boot({ ...spec("b"), projectDir: "/p" });
    const asked = pool.serve();
    pool.prescanAnother();
    expect(world.built.flatMap(({ prescans }) => prescans)).toEqual([]);
    asked();
    pool.prescanAnother();
    expect(pool.prescan("/q")).toBeNull();
    pool.prescanAnother();
    expect(pool.prescan("/p")).toBe(2);
    expect(pool.prescan("/p")).toBe(3);
    expect(world.built[1]?.prescans.map(([number]) => number)).toEqual([1, 2, 3]);
  });

  it("is no reason to look at another", async () => {
    await inFolder("a", "/p");
    await run("b");
    expect(pool.prescan("/q")).toBeNull();
    expect(pool.prescan("/p")).toBeNull();
    expect(world.built.flatMap(({ prescans }) => prescans)).toEqual([]);
  });
});

describe("a shape that was asked for", () => {
  it("is missed once and warm from then on", async () => {
    await run("a");
    expect(world.cold).toEqual(["a"]);
    await run("b");
    expect(world.cold).toEqual(["a"]);
    expect(pool.status).toMatchObject({ warm: 3, in_use: 0, min: 3, max: 5, taken: 1, missed: 1 });
  });

  it("serves nobody who asks for another", async () => {
    await run("a");
    await run("b", "other");
    expect(world.cold).toEqual(["a", "b"]);
  });

  it("gives each sandbox to one caller only", async () => {
    await run("a");
    await Promise.all(["b", "c", "d", "e"].map((id) => backend.boot(spec(id))));
    expect(world.built.map(({ taken }) => taken)).toEqual([1, 1, 1]);
    expect(world.cold).toEqual(["a", "e"]);
    expect(pool.status.in_use).toBe(4);
  });
});

describe("building", () => {
  it("waits until nobody is served any more", async () => {
    const [first, second] = [pool.serve(), pool.serve()];
    await backend.boot(spec("a"));
    first();
    await vi.advanceTimersByTimeAsync(1000);
    expect(world.built).toHaveLength(0);
    second();
    await vi.advanceTimersByTimeAsync(1000);
    expect(world.built).toHaveLength(3);
  });

  it("comes four at once for whoever calls again and again, and then not until there are few again", async () => {
    const built: number[] = [];
    for (let call = 0; call < 10; call++) {
      const answer = pool.serve();
      await backend.boot(spec(`call ${call}`));
      world.endAll();
      answer();
      await vi.advanceTimersByTimeAsync(5);
      built.push(world.built.length);
    }
    expect(built).toEqual([3, 3, 7, 7, 7, 7, 11, 11, 11, 11]);
    expect(world.cold).toEqual(["call 0"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(pool.status.warm).toBe(5);
  });

  it("of what cannot be built is told once, and not tried until somebody asks again", async () => {
    world.failure = new Error("no room");
    await run("a");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(faults).toEqual([world.failure]);
    world.failure = null;
    await run("b");
    expect(pool.status.warm).toBe(3);
  });

  it("does nothing where the machine has no memory left", async () => {
    pool = new WarmPool({ freeBytes: () => 1 << 20, onFault: () => {} });
    backend = pooledBackend(world.backend, pool);
    await run("a");
    expect(world.built).toHaveLength(0);
  });

  it("happens at once where it is asked for", async () => {
    expect(await pool.prewarm(world.shape("plain"), "claude", 2)).toBe(2);
    expect(pool.status.shapes).toMatchObject([{ agent: "claude", warm: 2 }]);
  });
});

describe("what is being built", () => {
  let ready = deferred<void>();
  let building: Promise<unknown> = Promise.resolve();
  beforeEach(() => {
    ready = deferred();
    world.ready = ready.promise;
    building = pool.prewarm(world.shape("plain"), policy.mode, 2);
    building.catch(() => {});
  });

  it("is for as many as find none ready, and only they wait for it", async () => {
    const booting = ["a", "b", "c"].map((id) => backend.boot(spec(id)));
    await booting[2];
    expect(world.cold).toEqual(["c"]);
    ready.resolve();
    await Promise.all(booting);
    await building;
    expect(world.built.map(({ taken }) => taken)).toEqual([1, 1]);
    expect(pool.status).toMatchObject({ warm: 0, taken: 2, missed: 1 });
  });

  it("and fails leaves everyone to one of their own", async () => {
    const booting = ["a", "b"].map((id) => backend.boot(spec(id)));
    ready.reject(new Error("no room"));
    await Promise.all(booting);
    expect(world.cold).toEqual(["a", "b"]);
    await expect(building).rejects.toThrow("no room");
  });

  it("ends with whoever has given up waiting for it", async () => {
    const giveUp = new AbortController();
    const booting = backend.boot(spec("a"), giveUp.signal);
    giveUp.abort(new Error("enough"));
    ready.resolve();
    await expect(booting).rejects.toThrow("enough");
    await building;
    expect(world.built.map(({ isDiscarded }) => isDiscarded)).toEqual([true, false]);
    expect(pool.status).toMatchObject({ warm: 1, in_use: 0 });
  });

  it("is nobody's when the pool closes", async () => {
    const booting = backend.boot(spec("a"));
    const closed = pool.close();
    ready.resolve();
    await closed;
    await booting;
    expect(world.cold).toEqual(["a"]);
    expect(world.built.every(({ isDiscarded }) => isDiscarded)).toBe(true);
  });
});

describe("what waits", () => {
  it("and dies is not handed out", async () => {
    await run("a");
    world.built[0]?.die();
    await vi.advanceTimersByTimeAsync(0);
    expect(pool.status.warm).toBe(2);
    await run("b");
    expect(world.built[0]?.taken).toBe(0);
    expect(world.cold).toEqual(["a"]);
  });

  it("and cannot serve makes way for the next, and for a cold one in the end", async () => {
    await run("a");
    for (const warm of world.built) warm.refuses = true;
    await run("b");
    expect(world.built.slice(0, 3).map(({ taken }) => taken)).toEqual([1, 1, 1]);
    expect(world.cold).toEqual(["a", "b"]);
    expect(pool.status.missed).toBe(2);
  });

  it("goes when the settings change, and comes back by the new ones", async () => {
    await run("a");
    const before = [...world.built];
    pool.configure({ min: 1, max: 1, agents: new Map() });
    expect(before.every(({ isDiscarded }) => isDiscarded)).toBe(true);
    await run("b");
    expect(pool.status).toMatchObject({ warm: 1, min: 1, max: 1 });
  });

  it("makes room for shapes that are used now", async () => {
    await run("a", "first");
    await run("b", "second");
    await run("c", "third");
    const warm = Object.fromEntries(pool.status.shapes.map((shape) => [shape.shape, shape.warm]));
    expect(warm).toEqual({ first: 1, second: 1, third: 3 });
  });

  it("ends with the pool", async () => {
    await run("a");
    vi.useRealTimers();
    await pool.close();
    expect(world.built.every(({ isDiscarded }) => isDiscarded)).toBe(true);
  });
});

describe("closing", () => {
  /** Whether it has settled when everything that can happen now has happened. */
  const isOver = async (work: Promise<void>): Promise<boolean> => {
    let over = false;
    void work.then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    return over;
  };

  it("gives up what is being built, waits for it, and ends what is there nevertheless", async () => {
    const ready = deferred<void>();
    world.ready = ready.promise;
    await run("a");
    expect(world.givenUp?.aborted).toBe(false);
    const closed = pool.close();
    expect(world.givenUp?.aborted).toBe(true);
    expect(await isOver(closed)).toBe(false);
    ready.resolve();
    await closed;
    expect(world.built.map(({ isDiscarded }) => isDiscarded)).toEqual([true, true, true]);
  });

  it("is not told of as a fault of what could not be built", async () => {
    const ready = deferred<void>();
    world.ready = ready.promise;
    await run("a");
    const closed = pool.close();
    ready.reject(new Error("given up"));
    await closed;
    expect(faults).toEqual([]);
  });

  it("waits for what is removed behind a run that has ended, and not for a run that goes on", async () => {
    const removed = deferred<void>();
    world.removed = removed.promise;
    await backend.boot(spec("a"));
    expect(await isOver(pool.close())).toBe(true);
    world.endAll();
    await vi.advanceTimersByTimeAsync(0);
    const closed = pool.close();
    expect(await isOver(closed)).toBe(false);
    removed.resolve();
    await closed;
  });
});
