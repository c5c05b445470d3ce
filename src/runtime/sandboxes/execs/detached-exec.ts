/** A command that goes on without whoever asked for it: its output goes to its log, and its end onto its record. */
import type { ExecRequest } from "../../../core/exec.js";
import type { GuestExec, GuestSession, KeptExec, KeptOutput } from "../../../guest/index.js";
import type { Clock, Moment } from "../clock.js";
import { elapsedMs } from "../clock.js";
import type { ExecInfo } from "../types.js";
import { ExecLog } from "./exec-log.js";
import type { ExecRecord, ExecRecords } from "./exec-records.js";
import type { LogStream } from "./log-format.js";
import { type ExecFacts, SandboxExec } from "./sandbox-exec.js";

export interface DetachedParts {
  readonly records: ExecRecords;
  readonly clock: Clock;
}

export class DetachedExec {
  readonly log: ExecLog;
  readonly #parts: DetachedParts;
  readonly #timeoutMs: number | null;
  readonly #started: Moment;
  /** Its record still says that its time stands still. */
  #isHeld: boolean;
  #info: ExecInfo;
  /** Null until its sandbox's guest was heard of it, after another process started it. */
  exec: SandboxExec | null = null;

  private constructor(parts: DetachedParts, log: ExecLog, record: Omit<ExecRecord, "version">) {
    const { info, timeoutMs, started, isHeld = false } = record;
    this.#parts = parts;
    this.log = log;
    this.#isHeld = isHeld;
    this.#info = info;
    this.#timeoutMs = timeoutMs;
    this.#started = started;
  }

  /** On record before it is asked for, so that none can run that nobody knows of. */
  static async start(
    parts: DetachedParts,
    session: GuestSession,
    {
      facts,
      request,
      timeoutMs,
    }: { readonly facts: ExecFacts; readonly request: ExecRequest; readonly timeoutMs: number | null },
  ): Promise<DetachedExec & { readonly exec: SandboxExec }> {
    const { records, clock } = parts;
    const info = { ...facts, ...notOver };
    const started = clock.now();
    await records.write({ info, timeoutMs, started });
    let log: ExecLog | null = null;
    try {
      log = await ExecLog.open(records.folder, facts.id);
      const detached = new DetachedExec(parts, log, { info, timeoutMs, started });
      const exec = detached.#connect(session, await session.exec({ ...request, key: facts.id }));
      return Object.assign(detached, { exec });
    } catch (error) {
      await log?.close();
      await records.remove(facts.id);
      throw error;
    }
  }

  /** One that an earlier process had started, as far as its record tells. */
  static async known(parts: DetachedParts, record: ExecRecord): Promise<DetachedExec> {
    const started = record.isHeld === true ? parts.clock.now() : record.started;
    return new DetachedExec(parts, await ExecLog.open(parts.records.folder, record.info.id), { ...record, started });
  }

  get info(): ExecInfo {
    return this.exec?.info ?? this.#info;
  }

  /** It goes on in this session, where its output is on record up to. */
  async resume(session: GuestSession, kept: KeptExec): Promise<SandboxExec> {
    const { place } = this.log;
    const at = (stream: LogStream, output: KeptOutput, written: number): number => {
      // What an earlier process had taken and could not write is gone.
      if (output.acked > written) this.log.skip(stream, output.acked - written);
      return Math.min(Math.max(written, output.acked), output.sent);
    };
    const stdout = at(1, kept.stdout, place.stdout);
    const resumption = kept.stderr === null ? { stdout } : { stdout, stderr: at(2, kept.stderr, place.stderr) };
    return this.#connect(session, await session.attach(kept, resumption));
  }

  /** Of a copy: from now on its record tells since when its time counts, for whoever copies it or takes it up next. */
  async noteGoingOn(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    await this.#write();
  }

  /** Nobody saw how it ended. */
  async lose(error: string): Promise<ExecInfo> {
    return await this.#finish({ ...this.#info, state: "lost", endedAtMs: Date.now(), error });
  }

  async fail(error: string): Promise<ExecInfo> {
    return await this.#finish({ ...this.#info, state: "failed", endedAtMs: Date.now(), error });
  }

  /** It is over, and all that is to be known of it is on disk. The guest may forget it. */
  async finished(session: GuestSession): Promise<ExecInfo> {
    const { exec } = this;
    if (exec === null) throw new Error("a command that was never connected does not end");
    const info = await exec.over;
    await this.#flushed;
    await this.#finish(info);
    if (info.state !== "lost") await session.forget(info.id).catch(() => {});
    return info;
  }

  #flushed: Promise<unknown> = Promise.resolve();

  #connect(session: GuestSession, guest: GuestExec): SandboxExec {
    const streams: readonly LogStream[] = this.#info.tty ? [1] : [1, 2];
    const flushed = Promise.all(
      streams.map((stream) => new Promise<void>((resolve) => guest.onOutput(stream, this.log.sink(stream, resolve)))),
    );
    // Streams of a sandbox that has gone never end.
    this.#flushed = Promise.race([flushed, session.ended]);
    const leftMs =
      this.#timeoutMs === null ? null : this.#timeoutMs - elapsedMs(this.#started, this.#parts.clock.now());
    const exec = new SandboxExec(this.#info, guest, leftMs === null ? null : Math.max(1, leftMs));
    this.exec = exec;
    return exec;
  }

  async #finish(info: ExecInfo): Promise<ExecInfo> {
    this.#info = info;
    await this.log.close();
    await this.#write();
    return info;
  }

  #written: Promise<unknown> = Promise.resolve();

  /** One after the other: it may end while it is written down that it goes on. */
  #write(): Promise<void> {
    const record = { info: this.#info, timeoutMs: this.#timeoutMs, started: this.#started };
    const written = this.#written.then(() => this.#parts.records.write(record));
    this.#written = written.catch(() => {});
    return written;
  }
}

/** What is said of a command that runs. */
export const notOver = {
  state: "running",
  endedAtMs: null,
  code: null,
  signal: null,
  timedOut: false,
  error: null,
} as const;
