/**
 * How much processor time each caller's commands have used within the last hour, as far as they have ended. The accounts
 * are kept in a file, so that a new server goes on where the last one ended.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { AgentKernelError } from "../../core/errors.js";
import { textIfThere } from "../../core/text-if-there.js";

const WINDOW_MS = 3_600_000;
/** Use is kept by the minute, so that a caller's account has at most sixty entries. */
const STEP_MS = 60_000;

/** A server that is killed forgets no more than this. */
const SAVE_AFTER_MS = 1000;
const VERSION = 1;

interface CpuLedgerOptions {
  readonly now?: () => number;
  /** Null: accounts end with this process. */
  readonly path?: string | null;
  /** The caller without a quota. */
  readonly leftOut?: string;
  readonly onFault?: (error: unknown) => void;
}

function replace(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(fresh, text, { mode: 0o600, flag: "wx" });
  renameSync(fresh, path);
}

function rethrow(error: unknown): never {
  throw error;
}

export class CpuLedger {
  readonly #accounts: Map<string, Map<number, number>>;
  readonly #options: CpuLedgerOptions;
  readonly #now: () => number;
  #saving: NodeJS.Timeout | null = null;

  constructor(options: CpuLedgerOptions = {}) {
    this.#options = options;
    this.#now = options.now ?? (() => Date.now());
    this.#accounts = readAccounts(options.path ?? null);
  }

  add(caller: string, cpuUs: number): void {
    const step = Math.floor(this.#now() / STEP_MS);
    const account = this.#accounts.get(caller) ?? new Map<number, number>();
    account.set(step, (account.get(step) ?? 0) + cpuUs);
    this.#accounts.set(caller, account);
    if (caller !== this.#options.leftOut) this.#saveSoon();
  }

  /** At once, where something is not in the file yet. */
  save(): void {
    const { path = null, leftOut } = this.#options;
    if (path === null || this.#saving === null) return;
    clearTimeout(this.#saving);
    this.#saving = null;
    const accounts = [...this.#accounts].flatMap(([caller, account]) =>
      caller === leftOut || this.usedSeconds(caller) === 0 ? [] : [[caller, Object.fromEntries(account)]],
    );
    const text = JSON.stringify({ version: VERSION, accounts: Object.fromEntries(accounts) });
    try {
      replace(path, `${text}\n`);
    } catch (error) {
      // The accounts in memory hold for as long as this process lives.
      (this.#options.onFault ?? rethrow)(error);
    }
  }

  #saveSoon(): void {
    if ((this.#options.path ?? null) === null || this.#saving !== null) return;
    this.#saving = setTimeout(() => this.save(), SAVE_AFTER_MS).unref();
  }

  usedSeconds(caller: string): number {
    const account = this.#accounts.get(caller);
    if (account === undefined) return 0;
    const oldest = Math.floor((this.#now() - WINDOW_MS) / STEP_MS);
    let sum = 0;
    for (const [step, used] of account) {
      if (step <= oldest) account.delete(step);
      else sum += used;
    }
    if (account.size === 0) this.#accounts.delete(caller);
    return sum / 1_000_000;
  }

  refuseBeyond(caller: string, seconds: number | null): void {
    if (seconds === null || this.usedSeconds(caller) < seconds) return;
    throw new AgentKernelError("too_many_requests", `this key's ${seconds} s of processor time an hour are used up`, {
      hint: "wait, or use a key with a larger share",
      details: { retry_after_s: STEP_MS / 1000 },
    });
  }
}

function readAccounts(path: string | null): Map<string, Map<number, number>> {
  const text = path === null ? null : textIfThere(path);
  if (text === null) return new Map();
  try {
    const { version, accounts } = JSON.parse(text) as { version: unknown; accounts: unknown };
    if (version !== VERSION || typeof accounts !== "object" || accounts === null)
      throw new Error("it has another form");
    return new Map(Object.entries(accounts).map(([caller, account]) => [caller, accountOf(account)]));
  } catch (cause) {
    throw new AgentKernelError("conflict", `${path} is no account of processor time that this version knows`, {
      hint: "it was written by another version, or edited; move it away, and quotas of processor time begin anew",
      cause,
    });
  }
}

function accountOf(account: unknown): Map<number, number> {
  if (typeof account !== "object" || account === null) throw new Error("an account is no table");
  const entries = Object.entries(account).map(([step, used]) => [Number(step), Number(used)] as const);
  if (!entries.every(([step, used]) => Number.isInteger(step) && Number.isFinite(used))) {
    throw new Error("an account has something else than numbers");
  }
  return new Map(entries);
}
