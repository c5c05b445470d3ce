/** One kept sandbox: its record, and its run where it has one. Changes of its state come one after the other. */
import type { Duplex } from "node:stream";
import type { SandboxCopy } from "../../core/backend.js";
import type { PersistentChanges } from "../../core/changes.js";
import type { ExecRequest } from "../../core/exec.js";
import type { NetworkRules } from "../../core/policy.js";
import { within } from "../../core/within.js";
import type { GuestFiles, GuestSession } from "../../guest/index.js";
import { AttachedApprovers } from "../attached-approvers.js";
import { openRunAudit, type RunAudit } from "../run-audit.js";
import { Activity } from "./activity.js";
import { beginCommand } from "./begin-command.js";
import type { SandboxContext } from "./context.js";
import { type CopyCall, copyOfSandbox } from "./copy-state.js";
import type { SandboxEventDetails } from "./events.js";
import { ExecRecords } from "./execs/exec-records.js";
import { ExecTable } from "./execs/exec-table.js";
import type { LogOptions } from "./execs/follow-log.js";
import type { LogPiece } from "./execs/log-reader.js";
import type { SandboxExec } from "./execs/sandbox-exec.js";
import type { SandboxFolder } from "./folder.js";
import { together } from "./guest-commands.js";
import { Lane } from "./lane.js";
import type { SandboxRecord } from "./record.js";
import { notFound, refusal, stillRuns } from "./refusals.js";
import { infoOf, type SandboxView, stateOf, statsOf, summaryOf } from "./reports.js";
import type { RunningSandbox } from "./running.js";
import { Runs } from "./runs.js";
import { SecretValues } from "./secret-values.js";
import { isTerminalId, type Terminal, Terminals, usualShell } from "./terminals/index.js";
import type {
  ExecInfo,
  ExecOptions,
  HostEnv,
  SandboxInfo,
  SandboxState,
  SandboxStats,
  SandboxSummary,
  StartOptions,
  StopOptions,
  TerminalRequest,
} from "./types.js";

/** How long commands of an idle sandbox, which nobody knows of, may take to end. */
const IDLE_GRACE_MS = 10_000;
const GUEST_ANSWER_MS = 1000;

export class Sandbox {
  readonly folder: SandboxFolder;
  readonly terminals: Terminals;
  readonly #home: SandboxContext;
  readonly #audit: RunAudit;
  readonly #execs: ExecTable;
  readonly #activity: Activity;
  readonly #runs: Runs;
  readonly #lane = new Lane();
  readonly #secrets: SecretValues;
  readonly approvers = new AttachedApprovers();
  #record: SandboxRecord;
  #isRemoved = false;
  #isReleased = false;
  #adopted: Promise<void> = Promise.resolve();

  /** `hostEnv`: of whoever makes it; without one it was made by an earlier process, and may run. */
  constructor(record: SandboxRecord, folder: SandboxFolder, context: SandboxContext, hostEnv?: HostEnv) {
    this.#record = record;
    this.folder = folder;
    this.#home = context;
    this.#secrets = new SecretValues(record.policy.net.secrets, hostEnv ?? {});
    const { policy, audit, auditSetting } = record;
    const setting = auditSetting === null ? {} : { AGENTKERNEL_AUDIT: auditSetting };
    const env = { ...context.env, ...hostEnv };
    this.#audit = openRunAudit(record.id, { policy, audit, hostEnv: { ...env, ...setting } }, context);
    this.#activity = new Activity({
      clock: context.clock,
      isQuiet: () => this.#running !== null && this.#execs.running === 0,
      onChange: context.lookAtLives,
    });
    this.#execs = new ExecTable({
      records: new ExecRecords(folder.execs),
      clock: context.clock,
      isOthers: isTerminalId,
      tell: (details) => this.#tell(details),
      say: (line) => context.say(`${record.name}: ${line}`),
    });
    this.terminals = new Terminals({
      folder: folder.terminals,
      clock: context.clock,
      use: () => this.use(),
      tell: (details) => this.#tell(details),
      say: (line) => context.say(`${record.name}: ${line}`),
    });
    this.#runs = new Runs({
      record: () => this.#record,
      net: () => this.#record.policy.net,
      folder,
      context,
      audit: this.#audit,
      secrets: this.#secrets,
      execs: together(this.#execs, this.terminals),
      asker: this.approvers,
      onRunning: () => (this.#record.hasRun ? Promise.resolve() : this.#change({ hasRun: true })),
      onStopped: (reason) => this.#tell({ type: "stopped", reason }),
      onConnection: () => this.use(),
      mayRun: hostEnv === undefined,
    });
  }

  get #running(): RunningSandbox | null {
    return this.#runs.current;
  }

  get name(): string {
    return this.#record.name;
  }

  get id(): string {
    return this.#record.id;
  }

  get owner(): string | null {
    return this.#record.owner;
  }

  get record(): SandboxRecord {
    return this.#record;
  }

  get state(): SandboxState {
    return stateOf({ record: this.#record, running: this.#running });
  }

  /** It runs, and commands can be run in it; false also while it is being stopped. */
  get isServing(): boolean {
    return this.state === "running" && !this.#runs.isStopping;
  }

  /** It does not count as idle until what is returned is called. */
  use(): () => void {
    return this.#activity.use();
  }

  /** How long until it has been idle for too long; null while it is in use, or may be idle for ever. */
  idleLeftMs(): number | null {
    const { idleTimeoutMs } = this.#record;
    const idleMs = idleTimeoutMs === null ? null : this.#activity.idleMs();
    return idleTimeoutMs === null || idleMs === null ? null : Math.max(0, idleTimeoutMs - idleMs);
  }

  summary(): SandboxSummary {
    return summaryOf(this.#view());
  }

  /** Once it is known what an earlier process had left running, as far as the guest tells that soon. */
  async info(): Promise<SandboxInfo> {
    await this.#adopted;
    if (this.isServing) await within(GUEST_ANSWER_MS, this.terminals.found, () => {});
    return await infoOf(this.#view());
  }

  stats(): Promise<SandboxStats> {
    return statsOf(this.#view());
  }

  /** It was made just now. Rejects where that must be on record and cannot be. */
  async announce(): Promise<void> {
    const { image, policy, projectDir, owner, from } = this.#record;
    const facts = { image: { name: image.name, digest: image.digest }, policy, project: projectDir };
    this.#audit.records.created(facts, owner, from);
    await this.#audit.insist();
    this.#tell({ type: "created" });
  }

  /** Takes over what an earlier process had started, where it runs. */
  adopt(): Promise<void> {
    const adopted = this.#lane.run(async () => {
      await this.#runs.adopt();
      this.#activity.note();
      if (this.#runs.current !== null) this.#home.tell(this, { type: "adopted" });
    });
    this.#adopted = adopted.catch(() => {});
    return adopted;
  }

  /** Nothing is done where it runs. Resolves to whether it did not. */
  start({ hostEnv = this.#home.env, signal }: StartOptions = {}): Promise<boolean> {
    return this.#lane.run(async () => {
      this.#refuseIfRemoved();
      await this.#runs.adopt();
      if (this.#running !== null) return false;
      await this.#runs.start(hostEnv, signal);
      this.#tell({ type: "started" });
      return true;
    });
  }

  /** In order, then by force. Nothing is done where it does not run. */
  stop({ graceMs }: StopOptions): Promise<void> {
    return this.#lane.run(() => this.#runs.stop(graceMs, "stopped"));
  }

  /** Unless somebody has begun to use it. */
  stopIfIdle(): Promise<void> {
    return this.#lane.run(async () => {
      if (this.idleLeftMs() === 0) await this.#runs.stop(IDLE_GRACE_MS, "idle");
    });
  }

  /** At once, also while a stop waits for its grace time. */
  kill(): Promise<void> {
    return this.#runs.kill();
  }

  /** With everything that it has written. One that runs only with `force`. */
  async remove({ force }: { readonly force: boolean }): Promise<void> {
    if (force) await this.kill();
    await this.#lane.run(async () => {
      this.#refuseIfRemoved();
      if (this.#running !== null) {
        if (!force) throw stillRuns(this.name, this.state);
        await this.kill();
      }
      await this.#home.forget(this);
      this.#isRemoved = true;
      this.#audit.records.removed();
      this.#tell({ type: "removed" });
    });
    await this.#audit.settle();
  }

  pause(): Promise<void> {
    return this.#lane.run(async () => {
      if (await this.#requireRunning().pause()) this.#tell({ type: "paused" });
    });
  }

  resume(): Promise<void> {
    return this.#lane.run(async () => {
      if (await this.#requireRunning().resume()) this.#tell({ type: "resumed" });
    });
  }

  /** What it has, as it is at one moment, into empty folders. One that runs is held still meanwhile. */
  copyInto(...[into, options]: CopyCall): Promise<SandboxCopy> {
    return this.#lane.run(async () => {
      this.#refuseIfRemoved();
      await this.#runs.adopt();
      return await copyOfSandbox(this.#view(), into, options);
    });
  }

  /** In a running sandbox. Settles when it was asked for; `guest.opened` of the result tells whether it runs. */
  async exec(options: ExecOptions): Promise<SandboxExec> {
    const timeoutMs = options.timeoutMs === undefined ? this.#record.policy.resources.timeoutMs : options.timeoutMs;
    return await this.#begin(options, (session, request) =>
      this.#execs.start(session, { request, detached: options.detached, timeoutMs }),
    );
  }

  /** Those of a running sandbox, once all are known that an earlier process had opened. */
  async knownTerminals(): Promise<Terminals> {
    this.#requireServing();
    await this.terminals.found;
    return this.terminals;
  }

  /** A new one, in a running sandbox. Settles when its command runs. */
  async openTerminal({ argv, size, ...rest }: TerminalRequest): Promise<Terminal> {
    const command = argv ?? [await usualShell(this.files, this.#record.policy.proc.commands)];
    return await this.#begin({ ...rest, argv: command, stdin: true, tty: size, detached: true }, (session, request) =>
      this.terminals.open(session, request, size),
    );
  }

  #begin<Begun extends { readonly over: Promise<ExecInfo> }>(
    options: ExecOptions,
    start: (session: GuestSession, request: ExecRequest) => Promise<Begun>,
  ): Promise<Begun> {
    const running = this.#requireServing();
    const parts = { running, record: this.#record, audit: this.#audit, isReleased: () => this.#isReleased };
    return beginCommand(parts, options, start);
  }

  execs(): readonly ExecInfo[] {
    return this.#execs.list();
  }

  /** One that runs; null where there is none of this id, or it is over. */
  runningExec(id: string): SandboxExec | null {
    return this.#execs.find(id);
  }

  /** The output of a detached command, in order of arrival; with `follow`, until it has ended. */
  logs(id: string, options: LogOptions): AsyncGenerator<LogPiece, void> {
    return this.#execs.logs(id, options);
  }

  /** Of the running sandbox. */
  get files(): GuestFiles {
    return this.#requireServing().session.files;
  }

  /** Where the backend keeps it, for `changes`. */
  get stateDir(): string {
    return this.folder.jail;
  }

  /** What it changed in its copy of the project, whether it runs or not; undefined where the backend cannot tell. */
  get changes(): PersistentChanges | undefined {
    return this.#home.kept.changes;
  }

  /** A file operation from outside. Where the audit log is required, nothing may happen before this resolves. */
  async recordFile(access: Parameters<RunAudit["records"]["file"]>[0]): Promise<void> {
    this.#audit.records.file(access);
    await this.#audit.insist();
    this.#audit.writeSoon();
  }

  connectTcp(port: number): Promise<Duplex> {
    return this.#requireServing().session.connectTcp(port);
  }

  /** How long it may live, counted from now where that changes. */
  setLife(life: Partial<Pick<SandboxRecord, "ttlMs" | "idleTimeoutMs">>): Promise<void> {
    return this.#lane.run(async () => {
      this.#refuseIfRemoved();
      await this.#change({ ...life, ...(life.ttlMs === undefined ? {} : { ttlFrom: this.#home.clock.now() }) });
      this.#tell({ type: "changed" });
    });
  }

  /** From the next connection on. `by`: who changed it, for the record. `ceiling`: as in the sandbox's record. */
  setNetwork(rules: NetworkRules, by: string, ceiling: NetworkRules | null = null): Promise<void> {
    return this.#lane.run(async () => {
      this.#refuseIfRemoved();
      const { policy, policyVersion } = this.#record;
      if (this.#running !== null && policy.net.egress === "off" && rules.egress !== "off") {
        throw refusal(this.name, "was started without a network", "stop it, change it, and start it again");
      }
      const next = { ...policy, net: { ...policy.net, ...rules } };
      this.#audit.records.policyChanged(next, by, "network");
      await this.#audit.insist();
      await this.#change({ policy: next, policyVersion: policyVersion + 1, networkCeiling: ceiling });
      this.#tell({ type: "changed" });
    });
  }

  get audit(): RunAudit {
    return this.#audit;
  }

  /** Lets go: it runs on. */
  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#runs.release();
    await this.#audit.settle();
  }

  #view(): SandboxView {
    return {
      record: this.#record,
      folder: this.folder,
      running: this.#running,
      execs: this.#execs,
      terminals: this.terminals,
      secrets: this.#secrets,
      context: this.#home,
    };
  }

  #tell(details: SandboxEventDetails): void {
    this.#activity.note();
    this.#home.tell(this, details);
  }

  async #change(fields: Partial<SandboxRecord>): Promise<void> {
    const record = { ...this.#record, ...fields };
    await this.folder.writeRecord(record);
    this.#record = record;
  }

  #requireRunning(): RunningSandbox {
    this.#refuseIfRemoved();
    if (this.#running !== null) return this.#running;
    throw refusal(this.name, `is ${this.state}, not running`, `start it: agentkernel start ${this.name}`);
  }

  #requireServing(): RunningSandbox {
    const running = this.#requireRunning();
    if (this.#runs.isStopping)
      throw refusal(this.name, "is being stopped", `start it again: agentkernel start ${this.name}`);
    if (!running.isPaused) return running;
    throw refusal(this.name, "is paused", `let it go on: agentkernel resume ${this.name}`);
  }

  #refuseIfRemoved(): void {
    if (this.#isRemoved) throw notFound(this.name);
  }
}
