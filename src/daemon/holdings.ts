/** Everything that the daemon owns beside command lines. It lets go of all of it, or ends all of it, in one go. */
import type { Holding, HoldingRegistry } from "../core/holding.js";
import { within } from "../core/within.js";
import type { Log } from "./log.js";

/** How long letting go, or ending, may take for all together. */
const GRACE_MS = 10_000;

export class Holdings implements HoldingRegistry {
  readonly #held = new Set<Holding>();
  readonly #log: Log;
  readonly #onChange: () => void;

  constructor(log: Log, onChange: () => void) {
    this.#log = log;
    this.#onChange = onChange;
  }

  add(holding: Holding): () => void {
    this.#held.add(holding);
    this.#onChange();
    return () => {
      if (this.#held.delete(holding)) this.#onChange();
    };
  }

  get names(): readonly string[] {
    return [...this.#held].map(({ what }) => what);
  }

  /** How many there were. What fails or takes too long is in the log, and keeps nothing else from being let go. */
  async releaseAll(): Promise<number> {
    return await this.#each("released", (holding) => holding.release());
  }

  async endAll(): Promise<number> {
    return await this.#each("ended", (holding) => holding.end());
  }

  async #each(done: string, act: (holding: Holding) => Promise<void>): Promise<number> {
    const all = [...this.#held];
    const open = new Set(all);
    const work = all.map(async (holding) => {
      try {
        await act(holding);
        this.#log.say(`${done}: ${holding.what}`);
      } catch (error) {
        this.#log.say(`not ${done}: ${holding.what}: ${error instanceof Error ? error.message : String(error)}`);
      }
      open.delete(holding);
    });
    await within(GRACE_MS, Promise.all(work), () => {});
    for (const { what } of open) this.#log.say(`not ${done} in time: ${what}`);
    for (const holding of all) this.#held.delete(holding);
    return all.length;
  }
}
