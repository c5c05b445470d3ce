/**
 * All that a command needs before it can start, in order: its image, its way out, and a temporary sandbox, each on
 * record. What was opened is closed again where the next thing fails.
 */
import { isAgentKernelError } from "../core/errors.js";
import { type PlannedStart, startOf } from "./command-start.js";
import { openBackend, type RuntimeHost } from "./open-backend.js";
import { type ImageWatcher, type RootImage, rootImage } from "./root-image.js";
import type { RunAudit } from "./run-audit.js";
import { type Asker, openEgress, type RunEgress } from "./run-egress.js";
import type { RunRequest } from "./run-request.js";
import { TemporarySandbox } from "./temporary-sandbox.js";

/** A sandbox, and no command yet. */
export interface OpenSandbox {
  readonly sandbox: TemporarySandbox;
  readonly image: RootImage;
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
}

export async function openRun(request: RunRequest, options: OpenRunOptions): Promise<OpenRun> {
  const { planned, ...opened } = await openPlanned(request, options, (image) => startOf(request, image));
  const { command, makesFolder } = planned;
  // Placeholders stand in for what a variable of the same name would have given away.
  const env = opened.egress === null ? command.env : { ...command.env, ...opened.egress.env };
  return { ...opened, start: { command: { ...command, env }, makesFolder } };
}

/** Without a command: those that come are asked for one by one. */
export async function openSandbox(request: RunRequest, options: OpenRunOptions): Promise<OpenSandbox> {
  const { planned: _, ...opened } = await openPlanned(request, options, () => null);
  return opened;
}

/** `plan` may refuse the image before a sandbox is started. */
async function openPlanned<Plan>(
  request: RunRequest,
  options: OpenRunOptions,
  plan: (image: RootImage) => Plan,
): Promise<OpenSandbox & { readonly planned: Plan }> {
  const { audit, signal, watcher, asker } = options;
  const meter = options.host.resident?.meter;
  const image = await rootImage(request.image, request.imageSettings, { ...watcher, signal });
  let egress: RunEgress | null = null;
  const close = async (): Promise<void> => {
    await egress?.close();
    await image.release();
  };
  try {
    egress = await openEgress(request, { ...audit, meter }, asker);
    const planned = plan(image);
    const sandbox = await startSandbox(request, options, image, egress);
    return { sandbox, image, egress, close, planned };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startSandbox(
  { policy, projectDir, homeDir }: RunRequest,
  { host, audit, signal }: OpenRunOptions,
  image: RootImage,
  egress: RunEgress | null,
): Promise<TemporarySandbox> {
  const { id, records } = audit;
  const backend = openBackend(host);
  const { name, digest } = image;
  const meter = host.resident?.meter;
  const askedAt = performance.now();
  records.starting({ backend: backend.name, image: { name, digest }, policy, project: projectDir });
  await audit.insist();
  try {
    const certificate = egress?.trustedCertificate ?? null;
    const trust = certificate === null ? {} : { trustedCertificate: certificate };
    const spec = { id, hostname: id, policy, image: image.source, projectDir, homeDir, ...trust };
    const sandbox = await TemporarySandbox.start(backend, spec, signal, egress?.port);
    records.ready(sandbox.layers);
    meter?.started({ kind: "run", isWarm: false, ms: performance.now() - askedAt });
    return sandbox;
  } catch (error) {
    meter?.startFailed(isAgentKernelError(error) ? error.code : "internal");
    records.failed(error);
    throw error;
  }
}
