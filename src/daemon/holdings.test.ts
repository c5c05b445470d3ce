import { describe, expect, it } from "vitest";
import type { Holding } from "../core/holding.js";
import { Holdings } from "./holdings.js";

function world() {
  const said: string[] = [];
  const seen: number[] = [];
  const holdings: Holdings = new Holdings({ say: (line) => said.push(line), lost: 0 }, () =>
    seen.push(holdings.names.length),
  );
  return { said, seen, holdings };
}

function holding(what: string, act: () => Promise<void> = async () => {}): Holding {
  return { what, release: act, end: act };
}

describe("what a daemon owns", () => {
  it("is known by name until it is taken back, once", () => {
    const { holdings, seen } = world();
    const takeBack = holdings.add(holding("sandbox web"));
    holdings.add(holding("sandbox db"));
    expect(holdings.names).toEqual(["sandbox web", "sandbox db"]);
    takeBack();
    takeBack();
    expect(holdings.names).toEqual(["sandbox db"]);
    expect(seen).toEqual([1, 2, 1]);
  });

  it("is let go of as a whole, also where one of it fails", async () => {
    const { holdings, said } = world();
    holdings.add(holding("sandbox web", () => Promise.reject(new Error("its socket is gone"))));
    holdings.add(holding("sandbox db"));
    expect(await holdings.releaseAll()).toBe(2);
    expect(said.sort()).toEqual(["not released: sandbox web: its socket is gone", "released: sandbox db"]);
    expect(holdings.names).toEqual([]);
  });
});
