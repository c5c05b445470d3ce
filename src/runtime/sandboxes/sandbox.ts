/** One kept sandbox: its record, and its run where it has one. Changes of its state come one after the other. */
import type { Duplex } from "node:stream";
import type { Backend, BootSpec, KeptBackend, KeptOver, KeptSandbox } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import type { GuestFiles } from "../../guest/index.js";
import { openRunAudit, type RunAudit } from "../run-audit.js";
import type { Clock } from "./clock.js";
import { elapsedMs } from "./clock.js";
import type { SandboxHappening, StopReason } from "./events.js";
import { execRequest } from "./exec-request.js";
import { ExecTable } from "./exec-table.js";
import type { SandboxFolder } from "./folder.js";
import { Lane } from "./lane.js";
import type { SandboxRecord } from "./record.js";
import { RunningSandbox } from "./running.js";
import type { SandboxExec } from "./sandbox-exec.js";
import { SecretValues } from "./secret-values.js";
import type {
  ExecInfo,
  ExecWish,
  HostEnv,
  SandboxInfo,
  SandboxState,
  SandboxStats,
  SandboxSummary,
  StartOptions,
  StopOptions,
} from "./types.js";

/** What a sandbox needs of whoever owns them all. */
export interface SandboxHome {
  readonly backend: Backend;
  readonly kept: KeptBackend;
  readonly clock: Clock;
  /** Of this process. */
  readonly env: HostEnv;
  readonly homeDir: string;
  readonly tell: (sandbox: Sandbox, happening: SandboxHappening) => void;
  readonly say: (line: string) => void;
  /** Takes its folder and all that is held for it away. */
  readonly forget: (sandbox: Sandbox) => Promise<void>;
}

export class Sandbox {
  readonly folder: SandboxFolder;
  readonly #home: SandboxHome;
  readonly #audit: RunAudit;
  readonly #execs: ExecTable;
  readonly #lane = new Lane();
  readonly #secrets: SecretValues;
  #record: SandboxRecord;
  #running: RunningSandbox | null = null;
  /** Why it will have ended, where that is our doing. */
  #stopReason: StopReason | null = null;
  #isRemoved = false;
  #uses = 0;

  constructor(record: SandboxRecord, folder: SandboxFolder, home: SandboxHome, hostEnv: HostEnv = {}) {
    this.#record = record;
    this.folder = folder;
    this.#home = home;
    this.#secrets = new SecretValues(record.policy.net.secrets, hostEnv);
    const { policy, audit, auditSetting } = record;
    const setting = auditSetting === null ? {} : { AGENTKERNEL_AUDIT: auditSetting };
    const env = { ...home.env, ...hostEnv };
    this.#audit = openRunAudit(record.id, { policy, audit, hostEnv: { ...env, ...setting } }, home);
    this.#execs = new ExecTable(folder.execs, (happening) => home.tell(this, happening));
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
    if (this.#running !== null) return this.#running.isPaused ? "paused" : "running";
    return this.#record.hasRun ? "stopped" : "created";
  }

  /** Something of it goes on: a command, or whatever took `use`. */
  get isInUse(): boolean {
    return this.#uses > 0 || this.#execs.running > 0;
  }

  /** It does not count as idle until what is returned is called. */
  use(): () => void {
    this.#uses++;
    let isOver = false;
    return () => {
      if (!isOver) this.#uses--;
      isOver = true;
    };
  }

  summary(): SandboxSummary {
    const { id, name, owner, image, projectDir, created, ttlMs, idleTimeoutMs } = this.#record;
    const age = elapsedMs(created, this.#home.clock.now());
    return {
      id,
      name,
      state: this.state,
      owner,
      image: { name: image.name, digest: image.digest },
      projectDir,
      createdAtMs: created.wallMs,
      startedAtMs: this.#running?.kept.startedAtMs ?? null,
      ttlMs,
      ttlLeftMs: ttlMs === null ? null : Math.max(0, ttlMs - age),
      idleTimeoutMs,
      runningExecs: this.#execs.running,
    };
  }

  async info(): Promise<SandboxInfo> {
    const { policy, policyVersion, image } = this.#record;
    const running = this.#running;
    const status = await running?.kept.status().catch(() => null);
    return {
      ...this.summary(),
      backend: this.#home.backend.name,
      imageWhy: image.why,
      policy,
      policyVersion,
      layers: running?.layers ?? [],
      ports: running?.ports ?? [],
      usage: status?.usage ?? null,
      execs: this.execs(),
      lastEnd: running === null ? await this.#home.kept.lastEnd(this.folder.jail) : null,
      notes: this.#secrets.notes(running !== null),
    };
  }

  async stats(): Promise<SandboxStats> {
    const { resources } = this.#record.policy;
    const status = await this.#running?.kept.status().catch(() => null);
    return {
      name: this.name,
      state: this.state,
      atMs: Date.now(),
      usage: status?.usage ?? null,
      diskBytes: null,
      network: { receivedBytes: 0, sentBytes: 0, connections: 0 },
      limits: { memoryBytes: resources.memoryMiB * 2 ** 20, vcpus: resources.vcpus, processes: resources.pids },
    };
  }

  /** Takes over what an earlier process had started, where it runs. */
  adopt(): Promise<void> {
    return this.#lane.run(async () => {
      const kept = await this.#home.kept.adopt(this.folder.jail);
      if (kept === null) return await this.#execs.load(null);
      const egress = await this.#secrets.openEgress(this.#record, () => this.#record.policy.net, this.#audit, {
        hostEnv: this.#home.env,
        isAdopted: true,
      });
      const running = await this.#take(kept, egress);
      running.isPaused = (await kept.status()).paused;
      await this.#execs.load(running.session);
      await running.publish(this.#record.publish).catch((error: unknown) => {
        this.#home.say(`${this.name}: its ports could not be opened again: ${String(error)}`);
      });
    });
  }

  /** Nothing is done where it runs. Resolves to whether it did not. */
  start({ hostEnv = {}, signal }: StartOptions = {}): Promise<boolean> {
    return this.#lane.run(async () => {
      this.#refuseIfRemoved();
      if (this.#running !== null) return false;
      await this.#start({ ...this.#home.env, ...hostEnv }, signal);
      return true;
    });
  }

  /** In order, within the grace time, then by force. Nothing is done where it does not run. */
  stop({ graceMs }: StopOptions, reason: StopReason = "stopped"): Promise<void> {
    return this.#lane.run(async () => {
      const running = this.#running;
      if (running === null) return;
      this.#stopReason ??= reason;
      await running.kept.stop(graceMs);
      await running.over;
      await this.#settled;
    });
  }

  /** At once, also while a stop waits for its grace time. */
  async kill(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.#stopReason ??= "killed";
    await running.kill();
    await this.#settled;
  }

  /** With everything that it has written. One that runs only with `force`. */
  async remove({ force }: { readonly force: boolean }): Promise<void> {
    if (force) await this.kill();
    await this.#lane.run(async () => {
      this.#refuseIfRemoved();
      if (this.#running !== null) {
        if (!force) throw this.#refusal(`is ${this.state}`, `stop it first, or use remove --force`);
        await this.kill();
      }
      this.#isRemoved = true;
      await this.#home.forget(this);
      this.#home.tell(this, { type: "removed" });
    });
    await this.#audit.settle();
  }

  pause(): Promise<void> {
    return this.#lane.run(async () => {
      const running = this.#requireRunning();
      if (running.isPaused) return;
      await running.kept.pause();
      running.isPaused = true;
      this.#home.tell(this, { type: "paused" });
    });
  }

  resume(): Promise<void> {
    return this.#lane.run(async () => {
      const running = this.#requireRunning();
      if (!running.isPaused) return;
      await running.kept.resume();
      running.isPaused = false;
      this.#home.tell(this, { type: "resumed" });
    });
  }

  /** In a running sandbox. Settles when it was asked for; `guest.opened` of the result tells whether it runs. */
  async exec(wish: ExecWish): Promise<SandboxExec> {
    const running = this.#requireServing();
    const request = execRequest(wish, this.#record, running.egress?.env ?? {});
    const timeoutMs = wish.timeoutMs === undefined ? this.#record.policy.resources.timeoutMs : wish.timeoutMs;
    const recordEnd = this.#audit.records.execStarting(request, [wish.hostEnv, wish.env ?? {}]);
    try {
      await this.#audit.insist();
      const exec = await this.#execs.start(running.session, { request, detached: wish.detached, timeoutMs });
      void exec.over.then(({ state, code, signal, timedOut, error }) => {
        const exit = { code, signal, usage: { userUs: 0, systemUs: 0, maxRssKiB: 0 } };
        recordEnd(state === "ended" ? { exit, timedOut } : { error: error ?? state });
      });
      this.#audit.writeSoon();
      return exec;
    } catch (error) {
      recordEnd({ error });
      throw error;
    }
  }

  execs(): readonly ExecInfo[] {
    return this.#execs.list();
  }

  /** One that runs; null where there is none of this id, or it is over. */
  runningExec(id: string): SandboxExec | null {
    return this.#execs.find(id);
  }

  /** Of the running sandbox. */
  get files(): GuestFiles {
    return this.#requireServing().session.files;
  }

  connectTcp(port: number): Promise<Duplex> {
    return this.#requireServing().session.connectTcp(port);
  }

  /** For file operations from outside, and whoever else has something to record. */
  get audit(): RunAudit["records"] {
    return this.#audit.records;
  }

  /** Lets go: it runs on. */
  async release(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.release();
    await running?.over;
    await this.#audit.settle();
  }

  async #start(hostEnv: HostEnv, signal?: AbortSignal): Promise<void> {
    const { image, policy, projectDir, homeDir, id, name } = this.#record;
    const { backend, kept: keeper } = this.#home;
    const { records } = this.#audit;
    const egress = await this.#secrets.openEgress(this.#record, () => this.#record.policy.net, this.#audit, {
      hostEnv,
      isAdopted: false,
    });
    let kept: KeptSandbox | null = null;
    try {
      records.starting({
        backend: backend.name,
        image: { name: image.name, digest: image.digest },
        policy,
        project: projectDir,
      });
      await this.#audit.insist();
      const certificate = egress?.trustedCertificate ?? null;
      const trust = certificate === null ? {} : { trustedCertificate: certificate };
      const spec: BootSpec = { id, hostname: name, policy, image: image.source, projectDir, homeDir, ...trust };
      kept = await keeper.start(spec, this.folder.jail, signal);
      await this.#execs.load(null);
      const running = await this.#take(kept, egress);
      await running.session.ready;
      await running.publish(this.#record.publish);
      records.ready(running.layers);
    } catch (error) {
      records.failed(error);
      await kept?.kill().catch(() => {});
      await this.#settled;
      await egress?.close();
      throw error;
    }
    this.#home.tell(this, { type: "started" });
  }

  /** From here on its end is heard of. */
  async #take(kept: KeptSandbox, egress: Awaited<ReturnType<SecretValues["openEgress"]>>): Promise<RunningSandbox> {
    const running = await RunningSandbox.open({ kept, egress, onConnection: () => this.use() });
    this.#running = running;
    this.#stopReason = null;
    this.#settled = running.over.then((over) => this.#ended(running, over));
    if (!this.#record.hasRun) await this.#change({ hasRun: true });
    return running;
  }

  #settled: Promise<void> = Promise.resolve();

  #ended(running: RunningSandbox, over: KeptOver): void {
    if (this.#running === running) this.#running = null;
    if (over.how === "released") return;
    if (over.how === "replaced") {
      this.#home.say(`${this.name}: another process owns it now`);
      return;
    }
    this.#audit.records.ended(over.how === "ended" ? over.end : null);
    const reason = this.#stopReason ?? (over.how === "lost" ? "lost" : "died");
    this.#home.tell(this, { type: "stopped", reason });
  }

  async #change(fields: Partial<SandboxRecord>): Promise<void> {
    const record = { ...this.#record, ...fields };
    await this.folder.writeRecord(record);
    this.#record = record;
  }

  #requireRunning(): RunningSandbox {
    this.#refuseIfRemoved();
    if (this.#running !== null) return this.#running;
    throw this.#refusal(`is ${this.state}, not running`, `start it: agentkernel start ${this.name}`);
  }

  #requireServing(): RunningSandbox {
    const running = this.#requireRunning();
    if (!running.isPaused) return running;
    throw this.#refusal("is paused", `let it go on: agentkernel resume ${this.name}`);
  }

  #refuseIfRemoved(): void {
    if (this.#isRemoved) throw new AgentKernelError("not_found", `the sandbox ${this.name} was removed`);
  }

  #refusal(what: string, hint: string): AgentKernelError {
    return new AgentKernelError("conflict", `the sandbox ${this.name} ${what}`, { hint });
  }
}
