/**
 * All that a command needs before it can start, in order: its image, its way out, and a temporary sandbox, each on
 * record. What was opened is closed again where the next thing fails.
 */
import { scratchMiB } from "../backends/linux/jail-spec.js";
import type { Backend } from "../core/backend.js";
import { isAgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import type { Policy } from "../core/policy.js";
import { heldFolder } from "../core/state-folders.js";
import { policyOn } from "./allotted-memory.js";
import type { Asker } from "./asker.js";
import { type Choice, forImage } from "./backends/choice.js";
import { chooseAnother, chooseBackend } from "./backends/choose.js";
import { type CommandStart, type PlannedStart, startOf } from "./command-start.js";
import { gitPartsFor } from "./git-files.js";
import type { RuntimeHost } from "./open-backend.js";
import { type ImageWatcher, type ResolvedRoot, resolveRoot } from "./root-image.js";
import type { RunAudit } from "./run-audit.js";
import { openEgress, type RunEgress } from "./run-egress.js";
import type { RunRequest } from "./run-request.js";
import type { RunSandbox } from "./run-sandbox.js";
import { TemporarySandbox } from "./temporary-sandbox.js";

/** A sandbox, and no command yet. */
export interface OpenSandbox {
  readonly sandbox: RunSandbox;
  /** The request's, with defaults that fit the backend. */
  readonly policy: Policy;
  readonly image: ResolvedRoot;
  /** Why it is on this backend, for people. */
  readonly backendWhy: string;
  /** Null where nothing leads out. */
  readonly egress: RunEgress | null;
  /** After the sandbox has ended. */
  close(): Promise<void>;
}

export interface OpenRun extends OpenSandbox {
  readonly start: PlannedStart;
}

export interface OpenRunOptions {
  readonly host: RuntimeHost;
  readonly audit: RunAudit;
  readonly signal?: AbortSignal;
  readonly watcher?: Omit<ImageWatcher, "signal">;
  /** Who is asked about destinations that no rule covers. */
  readonly asker?: Asker | undefined;
  /** The whole command, to be sent ahead of its sandbox where nothing has to be ready before it. */
  readonly ahead?: (start: CommandStart) => ExecRequest;
}

export async function openRun(request: RunRequest, options: OpenRunOptions): Promise<OpenRun> {
  const { plan, ...opened } = await openPlanned(request, options, (image, egress) => {
    const { command: planned, makesFolder } = startOf(request, image, options.audit.id);
    // Placeholders stand in for what a variable of the same name would have given away.
    const isOwn = egress === null || Object.keys(egress.env).length === 0;
    const command = isOwn ? planned : { ...planned, env: { ...planned.env, ...egress.env } };
    // It waits for what has to be ready before it: a folder, a port, a terminal, a record.
    const isFree = !makesFolder && request.publish.length === 0 && !request.tty && !options.audit.isRequired;
    return { start: { command, makesFolder }, ahead: isFree ? options.ahead?.(command) : undefined };
  });
  return { ...opened, start: plan.start };
}

/** Without a command: those that come are asked for one by one. */
export async function openSandbox(request: RunRequest, options: OpenRunOptions): Promise<OpenSandbox> {
  const { plan: _, ...opened } = await openPlanned(request, options, () => ({ ahead: undefined }));
  return opened;
}

/** Facts known before the sandbox starts; making it may refuse the image. */
export interface Plan {
  readonly ahead: ExecRequest | undefined;
}

async function openPlanned<P extends Plan>(
  request: RunRequest,
  options: OpenRunOptions,
  makePlan: (image: ResolvedRoot, egress: RunEgress | null) => P,
): Promise<OpenSandbox & { readonly plan: P }> {
  if (request.module !== null) {
    const { openModule } = await import("./open-module.js");
    return await openModule({ ...request, module: request.module }, options, makePlan);
  }
  const { host, signal } = options;
  let choice = await chooseBackend(host, request, signal);
  for (;;) {
    let used = choice;
    const onUse = (now: Choice): void => {
      used = now;
    };
    try {
      return await openOn({ first: choice, onUse }, request, options, makePlan);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      // Each is tried once, in the automatic order, so this ends.
      const another = await chooseAnother(host, request.backend, used, error);
      if (another === null) throw error;
      choice = another;
    }
  }
}

interface Chosen {
  readonly first: Choice;
  /** Told before anything of it is used: the image may be for another backend than was chosen first. */
  readonly onUse: (choice: Choice) => void;
}

/** From the image on: where it comes from is the backend's business too. */
async function openOn<P extends Plan>(
  { first, onUse }: Chosen,
  asked: RunRequest,
  options: OpenRunOptions,
  makePlan: (image: ResolvedRoot, egress: RunEgress | null) => P,
): Promise<OpenSandbox & { readonly plan: P }> {
  const { audit, signal, watcher, asker } = options;
  const meter = options.host.resident?.meter;
  const imageOn = (backend: Backend) => resolveRoot(asked.image, asked.imageSettings, { ...watcher, signal }, backend);
  let found = await imageOn(first.backend);
  const used = await forImage(first, found.source);
  onUse(used);
  const { backend, why: backendWhy, notes } = used;
  const policy = policyOn(backend, asked);
  const request = { ...asked, policy };
  if (used !== first && backend.findImage !== undefined) {
    // An engine has images of its own, and cannot run what was found for another backend.
    await found.release();
    found = await imageOn(backend);
  }
  const image = notes.length === 0 ? found : { ...found, notes: [...found.notes, ...notes] };
  let egress: RunEgress | null = null;
  const close = async (): Promise<void> => {
    await egress?.close();
    await image.release();
  };
  try {
    egress = await openEgress(request, { ...audit, meter }, asker);
    const plan = makePlan(image, egress);
    const sandbox = await startSandbox(backend, request, options, { image, egress, ahead: plan.ahead });
    return { sandbox, policy, image, backendWhy, egress, close, plan };
  } catch (error) {
    await close();
    throw error;
  }
}

const NOTHING = {};

interface StartParts {
  readonly image: ResolvedRoot;
  readonly egress: RunEgress | null;
  readonly ahead: ExecRequest | undefined;
}

async function startSandbox(
  backend: Backend,
  { policy, origins, projectDir, homeDir, hostEnv }: RunRequest,
  { host, audit, signal }: OpenRunOptions,
  { image, egress, ahead }: StartParts,
): Promise<TemporarySandbox> {
  const { id, records } = audit;
  const { name, digest } = image;
  const meter = host.resident?.meter;
  const askedAt = performance.now();
  records.starting({ backend: backend.name, image: { name, digest }, policy, project: projectDir });
  await audit.insist();
  try {
    const certificate = egress?.trustedCertificate ?? null;
    const spec = {
      id,
      hostname: id,
      policy,
      image: image.source,
      projectDir,
      homeDir,
      ...gitPartsFor(policy, hostEnv, projectDir),
      ...(certificate === null ? NOTHING : { trustedCertificate: certificate }),
      ...(typeof host.prescan === "number" ? { prescan: host.prescan } : NOTHING),
      ...(policy.fs.workspace.mode === "sync" ? { setAside: heldFolder(host.env, host.homeDir) } : NOTHING),
      ...(wantsDisk(policy, origins) ? { isOnDisk: true } : NOTHING),
    };
    const sandbox = await TemporarySandbox.start(backend, spec, signal, egress?.port, ahead);
    records.ready(sandbox.layers);
    meter?.started({ kind: "run", isWarm: sandbox.isWarm, ms: performance.now() - askedAt });
    return sandbox;
  } catch (error) {
    meter?.startFailed(isAgentKernelError(error) ? error.code : "internal");
    records.failed(error);
    throw error;
  }
}

/** Somebody asked for more than is in memory. */
function wantsDisk({ resources }: Policy, origins: RunRequest["origins"]): boolean {
  return origins["resources.diskMiB"] !== "default" && scratchMiB(resources) < resources.diskMiB;
}
