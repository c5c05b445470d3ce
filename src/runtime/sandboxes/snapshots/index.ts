/**
 * src/runtime/sandboxes/snapshots owns what was kept of sandboxes at one moment: copies of their files, each with the
 * record of its sandbox and, where its backend can, with what it had in memory. It never starts anything: a sandbox is
 * made of one by `Sandboxes.createCopy`.
 */
import { randomBytes } from "node:crypto";
import { AgentKernelError, isAgentKernelError } from "../../../core/errors.js";
import { holdForSandbox, releaseForSandbox } from "../../../images/store/kept-hold.js";
import { openRunAudit } from "../../run-audit.js";
import { copiesOf, type SandboxContext } from "../context.js";
import { copyState } from "../copy-state.js";
import type { CopyFolders } from "../folder.js";
import { Lane } from "../lane.js";
import type { Sandbox } from "../sandbox.js";
import type { CopyOptions, CopySource } from "../types.js";
import { SnapshotFolders } from "./folder.js";
import { parseSnapshotRecord, type SnapshotRecord, snapshotRecord } from "./record.js";
import { checkSnapshotName, noSnapshot, snapshotTaken } from "./refusals.js";

interface SnapshotsOptions {
  readonly folder: string;
  readonly context: SandboxContext;
  /** Why they are not this process's to own. */
  readonly unavailable?: AgentKernelError | null | undefined;
}

interface SnapshotRequest extends CopyOptions {
  /** Undefined: one is made from the sandbox's name and the time. */
  readonly name?: string | undefined;
  /** Null: the user's own. */
  readonly owner: string | null;
}

export interface SnapshotInfo {
  readonly name: string;
  readonly id: string;
  readonly owner: string | null;
  readonly createdAtMs: number;
  readonly backend: SnapshotRecord["backend"];
  readonly sandbox: { readonly name: string; readonly id: string };
  readonly image: { readonly name: string; readonly digest: string | null };
  readonly projectDir: string | null;
  readonly bytes: number | null;
  /** A sandbox that is made of it goes on with what ran. */
  readonly memory: boolean;
}

/** One of them. What is done with it comes one after the other. */
export interface Snapshot {
  readonly name: string;
  readonly owner: string | null;
  readonly info: SnapshotInfo;
  readonly record: SnapshotRecord;
}

interface Known extends Snapshot {
  readonly lane: Lane;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #folders: SnapshotFolders;
  readonly #known = new Map<string, Known>();
  readonly #unreadable = new Map<string, AgentKernelError>();
  readonly #coming = new Set<string>();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#folders = new SnapshotFolders(options.folder, options.context.kept);
  }

  /** Knows all that are there when it resolves; what killed processes left half made is gone. */
  async open(): Promise<void> {
    await this.#folders.open();
    for (const name of await this.#folders.names()) {
      try {
        const text = await this.#folders.readRecord(name);
        if (text === null) await this.#folders.clear(name);
        else this.#add(parseSnapshotRecord(text, name));
      } catch (error) {
        const failure = isAgentKernelError(error) ? error : unreadable(name, error);
        this.#unreadable.set(name, failure);
        this.#options.context.say(failure.message);
      }
    }
  }

  /** By name. */
  list(): readonly Snapshot[] {
    this.#refuseIfUnavailable();
    return [...this.#known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  unreadable(): readonly { readonly name: string; readonly error: AgentKernelError }[] {
    return [...this.#unreadable].map(([name, error]) => ({ name, error }));
  }

  /** Rejects with `not_found`, or with what is wrong with its record. */
  get(name: string): Snapshot {
    return this.#get(name);
  }

  /** Of a sandbox that runs or not. It is there, whole, when this resolves, and otherwise nothing of it is. */
  async take(sandbox: Sandbox, request: SnapshotRequest): Promise<Snapshot> {
    this.#refuseIfUnavailable();
    copiesOf(this.#options.context);
    const name = request.name === undefined ? this.#newName(sandbox.name) : checkSnapshotName(request.name);
    if (this.#isTaken(name)) throw snapshotTaken(name);
    this.#coming.add(name);
    try {
      sandbox.audit.records.snapshot("start", name);
      await sandbox.audit.insist();
      const taken = this.#add(await this.#folders.make(name, (copy) => this.#fill(name, sandbox, request, copy)));
      sandbox.audit.records.snapshot("create", name);
      return taken;
    } catch (error) {
      sandbox.audit.records.snapshotFailed(name, error);
      throw error;
    } finally {
      this.#coming.delete(name);
      sandbox.audit.writeSoon();
    }
  }

  /** Also one whose record cannot be used. */
  async remove(name: string): Promise<void> {
    this.#refuseIfUnavailable();
    if (this.#unreadable.has(checkSnapshotName(name))) {
      await this.#folders.remove(name);
      this.#unreadable.delete(name);
      return;
    }
    const { lane } = this.#get(name);
    await lane.run(async () => {
      const { record } = this.#get(name);
      const audit = this.#auditOf(record);
      audit.records.snapshot("remove", name);
      await audit.insist();
      this.#known.delete(name);
      await this.#folders.remove(name).catch((error: unknown) => {
        this.#options.context.say(`the snapshot ${name} could not be removed whole: ${String(error)}`);
      });
      const { stored } = record.sandbox.image;
      // Where this fails, whoever looks at the hold next finds that the snapshot is gone.
      if (stored !== null) await releaseForSandbox(stored.storeRoot, record.id).catch(() => {});
      await audit.settle();
    });
  }

  /** What a sandbox that is made of it begins with. */
  source(name: string): CopySource {
    const { record, lane } = this.#get(name);
    const { context } = this.#options;
    const fill: CopySource["fill"] = (into, { memory: isWanted = true, signal }) =>
      lane.run(async () => {
        if (this.#get(name).record !== record) throw noSnapshot(name);
        return await copyState(context, this.#folders.copy(name), into, { signal, memory: { isWanted, held: null } });
      });
    return { record: record.sandbox, from: { kind: "snapshot", name }, fill };
  }

  async #fill(name: string, sandbox: Sandbox, request: SnapshotRequest, copy: CopyFolders): Promise<SnapshotRecord> {
    const { context } = this.#options;
    const id = `${name}.${randomBytes(3).toString("hex")}`;
    const { stored } = sandbox.record.image;
    if (stored !== null) await holdForSandbox(stored.storeRoot, stored, id, this.#folders.path(name));
    const { bytes, memory = false } = await sandbox.copyInto(copy, request);
    const about = { id, name, owner: request.owner, createdAtMs: Date.now(), bytes, memory };
    return snapshotRecord({
      ...about,
      backend: sandbox.record.backend ?? context.backend.name,
      sandbox: sandbox.record,
    });
  }

  #add(record: SnapshotRecord): Known {
    const { name, owner } = record;
    const known: Known = { name, owner, record, info: infoOf(record), lane: new Lane() };
    this.#known.set(name, known);
    return known;
  }

  #get(name: string): Known {
    this.#refuseIfUnavailable();
    const found = this.#known.get(checkSnapshotName(name));
    if (found !== undefined) return found;
    throw this.#unreadable.get(name) ?? noSnapshot(name);
  }

  #isTaken(name: string): boolean {
    return this.#known.has(name) || this.#unreadable.has(name) || this.#coming.has(name);
  }

  #newName(sandbox: string): string {
    const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
    const base = `${sandbox.slice(0, 40).replace(/\.$/, "")}-${time}`;
    return this.#isTaken(base) ? `${base}-${randomBytes(2).toString("hex")}` : base;
  }

  #auditOf({ sandbox }: SnapshotRecord) {
    const { context } = this.#options;
    const { policy, audit, auditSetting } = sandbox;
    const setting = auditSetting === null ? {} : { AGENTKERNEL_AUDIT: auditSetting };
    return openRunAudit(sandbox.id, { policy, audit, hostEnv: { ...context.env, ...setting } }, context);
  }

  #refuseIfUnavailable(): void {
    if (this.#options.unavailable) throw this.#options.unavailable;
  }
}

function infoOf({ name, id, owner, createdAtMs, backend, bytes, memory, sandbox }: SnapshotRecord): SnapshotInfo {
  return {
    name,
    id,
    owner,
    createdAtMs,
    backend,
    bytes,
    memory: memory ?? false,
    sandbox: { name: sandbox.name, id: sandbox.id },
    image: { name: sandbox.image.name, digest: sandbox.image.digest },
    projectDir: sandbox.projectDir,
  };
}

function unreadable(name: string, cause: unknown): AgentKernelError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentKernelError("conflict", `the snapshot ${name} cannot be read or cleared away: ${reason}`, {
    hint: `agentkernel snapshots remove ${name} removes it; the others are not concerned`,
    cause,
  });
}
