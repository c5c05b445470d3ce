/**
 * Destinations that no rule covers, put to the user. One question per destination at a time, a bounded number of them
 * and a bounded wait; without an answer it is no.
 */
import type { Via } from "./decision.js";

export type ApprovalChoice = "once" | "sandbox" | "never";

export interface Question {
  readonly sandbox: string;
  readonly host: string;
  readonly port: number;
  readonly via: Via;
  /** Aborted when the answer would come too late. */
  readonly signal: AbortSignal;
}

export type Ask = (question: Question) => Promise<ApprovalChoice>;

interface Approval {
  readonly allowed: boolean;
  readonly rule: string;
}

const MAX_REMEMBERED = 1024;

const words: Readonly<Record<ApprovalChoice, Approval>> = {
  once: { allowed: true, rule: "the user allowed it, once" },
  sandbox: { allowed: true, rule: "the user allowed it for this sandbox" },
  never: { allowed: false, rule: "the user refused it" },
};

export class Approvals {
  readonly #ask: Ask;
  readonly #askMs: number;
  readonly #questions: number;
  readonly #mayAsk: () => boolean;
  readonly #open = new Map<string, Promise<Approval>>();
  readonly #remembered = new Map<string, Approval>();

  /** `mayAsk`: whether anybody is there now. Answers for the whole sandbox hold also when nobody is. */
  constructor(
    ask: Ask,
    limits: { readonly askMs: number; readonly questions: number },
    mayAsk: () => boolean = () => true,
  ) {
    this.#ask = ask;
    this.#mayAsk = mayAsk;
    this.#askMs = limits.askMs;
    this.#questions = limits.questions;
  }

  /** Whether a connection to the name could be let through, on whichever port. */
  mayCover(host: string): boolean {
    return this.#mayAsk() || [...this.#remembered].some(([key, { allowed }]) => allowed && key.startsWith(`${host} `));
  }

  /** Null where nobody can be asked. */
  answer(question: Omit<Question, "signal">): Promise<Approval | null> {
    const key = `${question.host} ${question.port}`;
    const known = this.#remembered.get(key);
    if (known !== undefined) return Promise.resolve(known);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    if (!this.#mayAsk()) return Promise.resolve(null);
    if (this.#open.size >= this.#questions) {
      return Promise.resolve({ allowed: false, rule: "no rule allows it, and too many questions are open" });
    }
    const asked = this.#put(key, question).finally(() => this.#open.delete(key));
    this.#open.set(key, asked);
    return asked;
  }

  async #put(key: string, question: Omit<Question, "signal">): Promise<Approval> {
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<null>((resolve) => {
      timer = setTimeout(() => {
        late.abort();
        resolve(null);
      }, this.#askMs);
    });
    try {
      const answer = await Promise.race([this.#ask({ ...question, signal: late.signal }), silence]);
      if (answer === null) return { allowed: false, rule: "no rule allows it, and nobody answered" };
      if (answer !== "once" && this.#remembered.size < MAX_REMEMBERED) this.#remembered.set(key, words[answer]);
      return words[answer];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { allowed: false, rule: `no rule allows it, and the question could not be put (${why})` };
    } finally {
      clearTimeout(timer);
    }
  }
}
