/**
 * One process's way to the log. Events are taken at once and written soon after, in the order in which they came; the
 * code that writes is loaded with the first write, never while a sandbox boots unless that takes long. `flush` waits until everything is in the file.
 */
import { type Deferred, deferred } from "../core/deferred.js";
import { AgentKernelError } from "../core/errors.js";
import type { Redactor } from "../core/redact.js";
import { type AuditEvent, isUrgent } from "./events.js";
import type { Patience } from "./patience.js";
import { defaultRetention, type RetentionOptions } from "./retention-options.js";
import type { AuditWriter, PreparedRecord } from "./writer.js";

export interface AuditTrailOptions extends Partial<RetentionOptions> {
  readonly folder: string;
  /** Where it is noted, outside the folder, that a log was begun. */
  readonly beginnings?: string | undefined;
  /** Records are written together with others, at the latest after this. */
  readonly lingerMs?: number;
}

/** What waits for a log that cannot be written; more would be memory that a sandbox can make us hold. */
const MOST_WAITING = 10_000;

/** Written at once, within one turn. */
const MOST_AT_ONCE = 256;

const LINGER_MS = 100;

type LoadedCode = Pick<typeof import("./writer.js"), "AuditWriter"> &
  Pick<typeof import("./patience.js"), "Patience"> &
  Pick<typeof import("./prepare.js"), "recordFields"> &
  Pick<typeof import("../core/redact.js"), "redactor">;

interface Waiting {
  readonly event: AuditEvent;
  readonly secrets: readonly string[];
  readonly atMs: number;
}

/** Waits until so many records are in the file. */
interface Patient {
  readonly upTo: number;
  readonly done: Deferred<void>;
}

export class AuditTrail {
  readonly #options: RetentionOptions & AuditTrailOptions & { readonly lingerMs: number };
  readonly #redactors = new WeakMap<readonly string[], Redactor>();
  #waiting: Waiting[] = [];
  #dropped = 0;
  #writer: AuditWriter | undefined;
  #writing: Promise<void> | undefined;
  #code: Promise<LoadedCode> | undefined;
  #linger: NodeJS.Timeout | undefined;
  #failure: AgentKernelError | null = null;
  #recorded = 0;
  #written = 0;
  #patient: Patient[] = [];

  constructor(options: AuditTrailOptions) {
    this.#options = { ...defaultRetention, lingerMs: LINGER_MS, ...options };
  }

  /**
   * Never throws and never waits. None of `secrets` will be in the log, nor what is known to look like one. It is
   * written together with what else comes within a moment; what is urgent, at once.
   */
  record(event: AuditEvent, secrets: readonly string[] = []): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#dropped++;
      return;
    }
    this.#recorded++;
    this.#waiting.push({ event, secrets, atMs: Date.now() });
    if (isUrgent(event)) this.writeSoon();
    else this.#linger ??= setTimeout(() => this.writeSoon(), this.#options.lingerMs);
  }

  /** This is a good moment to write: nobody waits for this process. */
  writeSoon(): void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    if (this.#waiting.length > 0) this.#writing ??= this.#write();
  }

  /** How many events it was given so far. */
  get recorded(): number {
    return this.#recorded;
  }

  /** The first so many events are in the file, and nothing has failed since. */
  hasTaken(upTo: number): boolean {
    return this.#written >= upTo && this.#failure === null;
  }

  /** It has written something, nothing has failed since, and not much waits. */
  get isTaking(): boolean {
    return this.#written > 0 && this.#failure === null && this.#waiting.length < MOST_AT_ONCE;
  }

  /** Rejects with `audit_unwritable` if something of what was recorded so far is not in the log. */
  async flush(): Promise<void> {
    // What failed before is tried once more.
    this.writeSoon();
    await this.#writing;
    await this.#writer?.synced().catch((cause: unknown) => this.#fail(cause));
    if (this.#failure !== null) throw this.#failure;
  }

  /** As `flush`, in the log's own time: for whoever waits for nothing but the end of it. */
  async written(): Promise<void> {
    if (this.#written >= this.#recorded) return;
    // What failed is tried again with the next record, not before.
    const isUnderWay = this.#linger !== undefined || this.#writing !== undefined;
    if (!isUnderWay && this.#failure !== null) throw this.#failure;
    const done = deferred<void>();
    this.#patient.push({ upTo: this.#recorded, done });
    await done.promise;
  }

  async #write(): Promise<void> {
    try {
      this.#failure = null;
      // Once what goes on now has gone on.
      await turnOfEvents();
      while (this.#waiting.length > 0) await this.#writeSome();
      const dropped = this.#dropped;
      // Told once: what comes after them is in the log again.
      this.#dropped = 0;
      if (dropped > 0) throw new Error(`${dropped} events came faster than they could be written`);
    } catch (cause) {
      this.#fail(cause);
    } finally {
      this.#writing = undefined;
    }
  }

  async #writeSome(): Promise<void> {
    this.#code ??= loadCode();
    const { AuditWriter, Patience, recordFields, redactor } = await this.#code;
    this.#writer ??= new AuditWriter(this.#options);
    const some = this.#waiting.slice(0, MOST_AT_ONCE);
    const records = some.map(({ event, secrets, atMs }) => {
      const known = this.#redactors.get(secrets) ?? redactor(secrets);
      this.#redactors.set(secrets, known);
      return { time: new Date(atMs).toISOString(), type: event.type, fields: recordFields(event, known) };
    });
    const durable = some.some(({ event }) => isUrgent(event));
    await append(this.#writer, records, durable, new Patience());
    this.#waiting.splice(0, some.length);
    this.#written += some.length;
    while ((this.#patient[0]?.upTo ?? Number.POSITIVE_INFINITY) <= this.#written) this.#patient.shift()?.done.resolve();
  }

  #fail(cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const hint = `look at ${this.#options.folder}: its disk, its owner and its mode; AGENTKERNEL_AUDIT=off runs without`;
    const message = `the audit log could not be written: ${reason}`;
    const failure = new AgentKernelError("audit_unwritable", message, { hint, cause });
    this.#failure = failure;
    for (const { done } of this.#patient.splice(0)) done.reject(failure);
  }
}

async function append(
  writer: AuditWriter,
  records: readonly PreparedRecord[],
  durable: boolean,
  patience: Patience,
): Promise<void> {
  for (let answer = writer.tryAppend(records, { durable }); answer !== null; ) {
    let passedOver = null;
    if (answer !== "turn-lost") {
      // Many that wait come one after the other.
      await pause(1 + Math.random() * 2);
      if (patience.isOver(answer, performance.now())) passedOver = answer;
    }
    answer = writer.tryAppend(records, { durable, passedOver });
  }
}

async function loadCode(): Promise<LoadedCode> {
  const [writer, patience, prepare, redact] = await Promise.all([
    import("./writer.js"),
    import("./patience.js"),
    import("./prepare.js"),
    import("../core/redact.js"),
  ]);
  return { ...writer, ...patience, ...prepare, ...redact };
}

function turnOfEvents(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
