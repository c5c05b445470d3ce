import { describe, expect, it } from "vitest";
import type { WasmWorker } from "./worker.js";
import { WorkerPool } from "./worker-pool.js";

/** As much of a worker as the pool touches. */
class Counted {
  isAlive = true;
  ends = 0;
  async end(): Promise<void> {
    this.isAlive = false;
    this.ends += 1;
  }
  get worker(): WasmWorker {
    return this as unknown as WasmWorker;
  }
}

describe("workers that wait", () => {
  it("serve the same kind again, and no other", async () => {
    const pool = new WorkerPool(4);
    expect(await pool.take("a")).toBeNull();
    const one = new Counted();
    pool.give("a", one.worker);
    expect(await pool.take("b")).toBeNull();
    expect(await pool.take("a")).toBe(one.worker);
    expect(pool.size).toEqual({ idle: 0, busy: 2 });
  });

  it("are not asked again when they died or were dropped", async () => {
    const pool = new WorkerPool(4);
    await pool.take("a");
    const dead = new Counted();
    dead.isAlive = false;
    pool.give("a", dead.worker);
    expect(pool.size).toEqual({ idle: 0, busy: 0 });
    await pool.take("a");
    const trapped = new Counted();
    pool.drop(trapped.worker);
    expect(trapped.ends).toBe(1);
    expect(await pool.take("a")).toBeNull();
  });

  it("make room: the one that waited longest ends for another kind", async () => {
    const pool = new WorkerPool(2);
    const [old, young] = [new Counted(), new Counted()];
    await pool.take("a");
    await pool.take("b");
    pool.give("a", old.worker);
    pool.give("b", young.worker);
    expect(await pool.take("c")).toBeNull();
    expect([old.ends, young.ends]).toEqual([1, 0]);
  });

  it("are waited for in turn where there may be no more", async () => {
    const pool = new WorkerPool(1);
    await pool.take("a");
    const same = pool.take("a");
    const other = pool.take("b");
    const one = new Counted();
    pool.give("a", one.worker);
    expect(await same).toBe(one.worker);
    pool.give("a", one.worker);
    // Somebody waits for another kind: this one goes, and leaves its place.
    expect(await other).toBeNull();
    expect(one.ends).toBe(1);
  });

  it("whoever stops waiting is passed over", async () => {
    const pool = new WorkerPool(1);
    await pool.take("a");
    const leaving = new AbortController();
    const gone = pool.take("a", leaving.signal);
    const next = pool.take("a");
    leaving.abort();
    await expect(gone).rejects.toThrow();
    const one = new Counted();
    pool.give("a", one.worker);
    expect(await next).toBe(one.worker);
  });

  it("end with the pool, and nobody waits any more", async () => {
    const pool = new WorkerPool(1);
    await pool.take("a");
    const one = new Counted();
    const waiting = pool.take("b");
    const refused = expect(waiting).rejects.toThrow("is ending");
    await pool.close();
    await refused;
    pool.give("a", one.worker);
    expect(one.ends).toBe(1);
    await expect(pool.take("a")).rejects.toThrow("is ending");
  });
});
