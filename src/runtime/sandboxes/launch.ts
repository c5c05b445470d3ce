/** Starts a kept sandbox from its record: its way out first, then the sandbox, each on record. */
import type { BootSpec, PersistentSandbox } from "../../core/backend.js";
import { heldFolder } from "../../core/state-folders.js";
import type { Asker } from "../asker.js";
import { gitPartsFor } from "../git-files.js";
import type { RunAudit } from "../run-audit.js";
import type { RunEgress } from "../run-egress.js";
import type { SandboxContext } from "./context.js";
import type { SandboxFolder } from "./folder.js";
import type { SandboxRecord } from "./record.js";
import type { SecretValues } from "./secret-values.js";
import type { HostEnv } from "./types.js";

export interface LaunchParts {
  readonly record: SandboxRecord;
  readonly folder: SandboxFolder;
  readonly context: SandboxContext;
  readonly audit: RunAudit;
  readonly secrets: SecretValues;
  /** The present one, of a policy that may change. */
  readonly net: () => SandboxRecord["policy"]["net"];
  /** Who is asked about destinations that no rule covers. */
  readonly asker: Asker;
}

export interface Launched {
  readonly kept: PersistentSandbox;
  readonly egress: RunEgress | null;
}

/** Nothing of it is left where it rejects. */
export async function launch(parts: LaunchParts, hostEnv: HostEnv, signal?: AbortSignal): Promise<Launched> {
  const { record, folder, context, audit, secrets, net, asker } = parts;
  const { image, policy, projectDir, homeDir, id, name } = record;
  const egress = await secrets.openEgress(record, net, audit, { hostEnv, isAdopted: false, asker });
  try {
    const backend = await context.backendFor(record.backend);
    const facts = { backend: backend.name, image: { name: image.name, digest: image.digest } };
    audit.records.starting({ ...facts, policy, project: projectDir });
    await audit.insist();
    const certificate = egress?.trustedCertificate ?? null;
    const trust = certificate === null ? {} : { trustedCertificate: certificate };
    const aside = policy.fs.workspace.mode === "sync" ? { setAside: heldFolder(context.env, context.homeDir) } : {};
    const own = { id, hostname: name, ...trust, ...gitPartsFor(policy, hostEnv, projectDir), ...aside };
    const spec: BootSpec = { ...own, policy, image: image.source, projectDir, homeDir };
    return { kept: await backend.kept.start(spec, folder.jail, signal), egress };
  } catch (error) {
    audit.records.failed(error);
    await egress?.close();
    throw error;
  }
}
