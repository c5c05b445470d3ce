/**
 * src/runtime/pool owns sandboxes that are built before anybody asks for them. Each serves one run and is never handed
 * on. It knows shapes, counts and ages, and nothing of policies: what may be shared between callers is for the backend
 * to say. Building one never competes with a run: it waits until nobody is being served.
 */
import type { WarmSandbox, WarmShape } from "../../core/backend.js";
import { type Deferred, deferred } from "../../core/deferred.js";
import { ceiling, defaultPoolSettings, type PoolSettings, sameSettings, wantedCounts } from "./sizes.js";

export interface ShapeStatus {
  readonly agent: string;
  readonly shape: string;
  readonly warm: number;
  readonly in_use: number;
  readonly taken: number;
  readonly missed: number;
}

export interface PoolStatus {
  readonly warm: number;
  readonly in_use: number;
  readonly min: number;
  readonly max: number;
  /** How often a warm one was there or already under way, and how often not. */
  readonly taken: number;
  readonly missed: number;
  readonly shapes: readonly ShapeStatus[];
}

export interface ShapeUser {
  /**
   * One that waited, to be tried, or one that is being built already, once it is there: that is sooner than any that
   * would be begun now. Null where there is none left. It is the caller's.
   */
  next(): Promise<WarmSandbox | null>;
  /** One from `next` that nobody wants any more. */
  discard(warm: WarmSandbox): void;
  /** Whether one that waited could be taken, and which folder it shows as the project. */
  has(how: "taken" | "missed", project: string | null): void;
  over(): void;
}

interface PoolOptions {
  readonly freeBytes: () => number;
  /** A warm sandbox could not be built; runs go on without. */
  readonly onFault: (error: unknown) => void;
}

/**
 * With no more of a shape than this, it is filled up as soon as nobody is served; otherwise after a rest. So whoever
 * calls again and again is seldom beside a sandbox that is being built.
 */
const FEW = 1;
/** Asked for again within this time, a shape is in use all the time. */
const HOT_MS = 50;
/** Nothing was asked for so long: whoever calls again and again has stopped for a moment. */
const REST_MS = 20;
/** How long a look at the machine's memory is believed. */
const MEMORY_LOOK_MS = 1000;
/**
 * At once. On two processors a run beside four takes more than twice as long, and the three after it have none beside
 * them: built fewer at a time, there would be one beside most of those who call again and again.
 */
const MOST_BUILDING = 4;

interface Prescan {
  readonly number: number;
  readonly folder: string;
}

class Stock {
  readonly agent: string;
  shape: WarmShape;
  readonly warm: WarmSandbox[] = [];
  building = 0;
  /** Those who wait for what is being built, each for one of them. */
  readonly claims: Deferred<WarmSandbox | null>[] = [];
  inUse = 0;
  peakInUse = 0;
  isHot = false;
  /** There were few, and it is being filled up. */
  isFilling = false;
  /** Nobody has asked for anything for a moment. */
  isResting = false;
  usedAtMs: number;
  /** What the last one showed. */
  project: string | null = null;
  taken = 0;
  missed = 0;
  /** It could not be built; tried again when it is next asked for. */
  hasFailed = false;

  constructor(agent: string, shape: WarmShape, nowMs: number) {
    this.agent = agent;
    this.shape = shape;
    this.usedAtMs = nowMs;
  }
}

export class WarmPool {
  readonly #options: PoolOptions;
  readonly #stocks = new Map<string, Stock>();
  #settings: PoolSettings = defaultPoolSettings;
  #served = 0;
  #rest: NodeJS.Timeout | undefined;
  #most = 0;
  #lookedAtMs = 0;
  #prescans = 0;
  /** The look that was made for whoever called last, until it is known who that is. */
  #early: Prescan | null = null;
  /** What has been begun and is to be over before a close is: builds, ends, and removals. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get status(): PoolStatus {
    const shapes = [...this.#stocks.values()].map((stock) => ({
      agent: stock.agent,
      shape: stock.shape.label,
      warm: stock.warm.length,
      in_use: stock.inUse,
      taken: stock.taken,
      missed: stock.missed,
    }));
    const sum = (field: "warm" | "in_use" | "taken" | "missed") => shapes.reduce((all, one) => all + one[field], 0);
    const { min, max } = this.#settings;
    return { warm: sum("warm"), in_use: sum("in_use"), min, max, taken: sum("taken"), missed: sum("missed"), shapes };
  }

  /** Other settings than before: what is there was built for the old ones, and goes. */
  configure(settings: PoolSettings): void {
    if (sameSettings(settings, this.#settings)) return;
    this.#settings = settings;
    this.drain();
  }

  /** Somebody wants one of this shape, and has one from here or of their own until it is over. */
  use(shape: WarmShape, agent: string): ShapeUser {
    const stock = this.#stockOf(shape, agent);
    stock.inUse++;
    stock.peakInUse = Math.max(stock.peakInUse, stock.inUse);
    return {
      next: async () => stock.warm.shift() ?? (await this.#claim(stock)),
      discard: (warm) => this.#discard([warm]),
      has: (how, project) => {
        stock.project = project;
        if (how === "taken") stock.taken++;
        else stock.missed++;
      },
      over: () => {
        stock.inUse--;
      },
    };
  }

  /**
   * Somebody in this folder is about to ask, probably for the same as was asked for there last: the sandbox that would
   * be given looks at the folder already. Returns what to name in the request; null where nobody looks.
   */
  prescan(folder: string): number | null {
    const early = this.#early;
    this.#early = null;
    if (early?.folder === folder) return early.number;
    return this.#prescan(folder)?.number ?? null;
  }

  /**
   * Somebody calls, and nothing is known of them yet. Where one call follows another, it probably comes from the same
   * folder.
   */
  prescanAnother(): void {
    const stocks = [...this.#stocks.values()].filter(({ project }) => project !== null);
    const last = stocks.reduce<Stock | null>((best, one) => (best && best.usedAtMs >= one.usedAtMs ? best : one), null);
    const isSoon = last !== null && Date.now() - last.usedAtMs < HOT_MS;
    this.#early = isSoon && last.project !== null && this.#served === 0 ? this.#prescan(last.project) : null;
  }

  #prescan(folder: string): Prescan | null {
    const known = [...this.#stocks.values()].filter(({ project, warm }) => project === folder && warm.length > 0);
    const likely = known.reduce<Stock | null>(
      (best, one) => (best && best.usedAtMs >= one.usedAtMs ? best : one),
      null,
    );
    const first = likely?.warm[0];
    if (first?.prescan === undefined) return null;
    const number = ++this.#prescans;
    first.prescan(number, folder);
    return { number, folder };
  }

  /** Somebody is served; nothing is built until all have their answers. Returns what is to be called then. */
  serve(): () => void {
    this.#served++;
    return () => {
      this.#served--;
      if (this.#served === 0) this.#restSoon();
    };
  }

  /** Builds at least so many of a shape. Rejects where one cannot be built. Returns how many there are. */
  async prewarm(shape: WarmShape, agent: string, count: number): Promise<number> {
    const stock = this.#stockOf(shape, agent);
    stock.peakInUse = Math.max(stock.peakInUse, count);
    const wanted = Math.min(count, this.#wanted().get(stock) ?? 0);
    const missing = Math.max(0, wanted - stock.warm.length - stock.building);
    await Promise.all(Array.from({ length: missing }, () => this.#build(stock)));
    return stock.warm.length;
  }

  /** Ends all that wait. */
  drain(): void {
    for (const [key, stock] of this.#stocks) {
      this.#discard(stock.warm.splice(0));
      if (stock.inUse === 0) this.#stocks.delete(key);
    }
  }

  /** Nothing of it is left when this settles, neither of what was being built nor of what it had served with. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the pool is closed"));
    clearTimeout(this.#rest);
    this.drain();
    // What was being built may be there nevertheless, and is ended then.
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Something of a sandbox that nobody waits for but a close. Must not reject. */
  outlast(work: Promise<unknown>): void {
    this.#underWay.add(work);
    void work.then(() => this.#underWay.delete(work));
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #stockOf(shape: WarmShape, agent: string): Stock {
    const key = `${agent}\n${shape.key}`;
    const known = this.#stocks.get(key) ?? new Stock(agent, shape, Date.now());
    this.#stocks.set(key, known);
    const nowMs = Date.now();
    known.shape = shape;
    known.isHot = nowMs - known.usedAtMs < HOT_MS && known.taken + known.missed > 0;
    known.usedAtMs = nowMs;
    known.isResting = false;
    known.hasFailed = false;
    return known;
  }

  #restSoon(): void {
    if (this.#isClosed) return;
    // First the answer has to leave.
    setImmediate(() => this.#refill());
    // One timer, set anew: it is wanted for every run.
    this.#rest = this.#rest?.refresh() ?? setTimeout(() => this.#takeRest(), REST_MS);
  }

  #takeRest(): void {
    // Somebody came meanwhile; it begins anew when they have their answer.
    if (this.#isClosed || this.#served > 0) return;
    this.#discardUnwanted();
    for (const stock of this.#stocks.values()) {
      stock.isResting = true;
      stock.isFilling = true;
    }
    this.#refill();
  }

  /** Builds of shapes that have few, as many at once as there should be; more follow when one is there. */
  #refill(): void {
    if (this.#isClosed || this.#served > 0) return;
    const all = [...this.#stocks.values()];
    for (const stock of all) if (stock.warm.length + stock.building <= FEW) stock.isFilling = true;
    // Most answers leave enough.
    if (!all.some(({ isFilling }) => isFilling)) return;
    const count = all.reduce((sum, { warm, building }) => sum + warm.length + building, 0);
    const building = all.reduce((sum, stock) => sum + stock.building, 0);
    let room = Math.min(MOST_BUILDING - building, this.#ceiling() - count);
    for (const [stock, wanted] of this.#wanted()) {
      const there = stock.warm.length + stock.building;
      if (there >= wanted) stock.isFilling = false;
      if (stock.hasFailed || !stock.isFilling) continue;
      for (let missing = wanted - there; missing > 0 && room > 0; missing--, room--) {
        this.#build(stock).then(
          () => this.#refill(),
          (error: unknown) => this.#fail(stock, error),
        );
      }
      // One run has these beside it; those that follow have none, until there are few again.
      if (stock.isHot && !stock.isResting) stock.isFilling = false;
    }
  }

  /** Told once, however many were being built. */
  #fail(stock: Stock, error: unknown): void {
    if (!stock.hasFailed && !this.#isClosed) this.#options.onFault(error);
    stock.hasFailed = true;
  }

  #ceiling(): number {
    const nowMs = Date.now();
    if (nowMs - this.#lookedAtMs > MEMORY_LOOK_MS) {
      this.#most = ceiling(this.#options.freeBytes());
      this.#lookedAtMs = nowMs;
    }
    return this.#most;
  }

  #wanted(): Map<Stock, number> {
    return wantedCounts(this.#stocks.values(), this.#settings, Date.now());
  }

  async #build(stock: Stock): Promise<void> {
    const built = this.#built(stock);
    this.outlast(built.catch(() => {}));
    await built;
  }

  async #claim(stock: Stock): Promise<WarmSandbox | null> {
    if (stock.claims.length >= stock.building) return null;
    const claim = deferred<WarmSandbox | null>();
    stock.claims.push(claim);
    return await claim.promise;
  }

  async #built(stock: Stock): Promise<void> {
    stock.building++;
    try {
      const warm = await stock.shape.build(this.#closing.signal);
      const isKnown = [...this.#stocks.values()].includes(stock);
      if (this.#isClosed || !isKnown) {
        this.#discard([warm]);
        return;
      }
      const claim = stock.claims.shift();
      if (claim !== undefined) {
        claim.resolve(warm);
        return;
      }
      stock.warm.push(warm);
      // One that dies while it waits is nobody's loss, as long as nobody gets it.
      void warm.over.then(() => {
        const at = stock.warm.indexOf(warm);
        if (at >= 0) stock.warm.splice(at, 1);
      });
    } finally {
      stock.building--;
      // None for whoever waits beyond what is being built.
      if (stock.claims.length > stock.building) stock.claims.shift()?.resolve(null);
    }
  }

  #discardUnwanted(): void {
    for (const [stock, wanted] of this.#wanted()) {
      // Whoever was many at once is not for ever.
      stock.peakInUse = stock.inUse;
      this.#discard(stock.warm.splice(wanted));
    }
    for (const [key, stock] of this.#stocks) {
      const isUsed = stock.inUse + stock.building + stock.warm.length > 0;
      if (!isUsed && (this.#wanted().get(stock) ?? 0) === 0) this.#stocks.delete(key);
    }
  }

  #discard(sandboxes: readonly WarmSandbox[]): void {
    for (const warm of sandboxes) this.outlast(warm.discard().catch(this.#options.onFault));
  }
}
