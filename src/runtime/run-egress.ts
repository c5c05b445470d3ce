/** A run's way out of its sandbox: none, or the gateway under the run's policy, with every decision on record. */

import { trustPaths } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import type { NetworkRules, SecretBinding } from "../core/policy.js";
import type { EgressDecision, SandboxSecrets } from "../egress/index.js";
import type { Asker } from "./asker.js";
import type { Meter } from "./meter.js";
import { recordedAsk } from "./recorded-ask.js";
import type { RunAudit } from "./run-audit.js";
import type { RunRequest } from "./run-request.js";
import { SandboxEgress } from "./sandbox-egress.js";

export interface RunEgress {
  readonly port: SandboxEgress;
  /** Variables for programs inside: placeholders of secrets, and the path of the certificate to trust. */
  readonly env: Readonly<Record<string, string>>;
  readonly trustedCertificate: string | null;
  close(): Promise<void>;
}

/** Where decisions are recorded and counted. */
type EgressRecords = Pick<RunAudit, "id" | "records"> & { readonly meter?: Meter | undefined };

/** The asker is closed with it. `rules` are read at each connection, where they can change. */
export async function openEgress(
  request: Pick<RunRequest, "policy" | "hostEnv">,
  audit: EgressRecords,
  asker?: Asker,
  rules?: () => NetworkRules,
): Promise<RunEgress | null> {
  const { net, resources } = request.policy;
  if (net.egress === "off") return null;
  if (namesProxy(request.hostEnv)) {
    // A proxy that cannot be used stops the start, not the first connection of a command that has begun.
    (await import("../egress/upstream/settings.js")).upstreamFromEnvironment(request.hostEnv);
  }
  const secrets = net.secrets.length === 0 ? null : await openSecrets(net.secrets, request.hostEnv);
  const port = new SandboxEgress({
    sandbox: audit.id,
    rules: rules ?? (() => net),
    limits: { connections: resources.maxConnections },
    env: request.hostEnv,
    onDecision: (decision) => record(audit, decision),
    ask: asker === undefined ? undefined : recordedAsk(asker, audit.records),
    mayAsk: asker?.mayAsk,
    secrets: secrets?.held,
  });
  return {
    port,
    env: secrets?.env ?? {},
    trustedCertificate: secrets?.held.authority.certificatePem ?? null,
    close: async () => {
      await port.close();
      asker?.close();
    },
  };
}

const proxyNamed = new WeakMap<RunRequest["hostEnv"], boolean>();

function namesProxy(env: RunRequest["hostEnv"]): boolean {
  const known = proxyNamed.get(env);
  if (known !== undefined) return known;
  const found = Object.keys(env).some((name) => /^(all|https?)_proxy$/i.test(name) && env[name] !== "");
  // Only what cannot change any more is what it was.
  if (Object.isFrozen(env)) proxyNamed.set(env, found);
  return found;
}

interface RunSecrets {
  readonly held: SandboxSecrets;
  readonly env: Readonly<Record<string, string>>;
}

async function openSecrets(bindings: readonly SecretBinding[], hostEnv: RunRequest["hostEnv"]): Promise<RunSecrets> {
  const { createSandboxSecrets, secretEnvironment, trustEnvironment } = await import("../egress/secrets/index.js");
  const held = createSandboxSecrets(bindings.map((binding) => ({ ...binding, value: heldValue(binding, hostEnv) })));
  return { held, env: { ...trustEnvironment(trustPaths), ...secretEnvironment(held) } };
}

function heldValue({ name }: SecretBinding, hostEnv: RunRequest["hostEnv"]): string {
  const value = hostEnv[name];
  if (value !== undefined && value !== "") return value;
  throw new AgentKernelError(
    "invalid_argument",
    `the secret ${name} has no value: the variable ${name} is not set here`,
    {
      hint: `export ${name} first; its value is read here and never enters the sandbox`,
    },
  );
}

function record({ records, meter }: EgressRecords, decision: EgressDecision): void {
  const { phase, via, host, port, verdict, rule, resolved, dialled, seen, bytes, secrets } = decision;
  if (phase === "decided") meter?.egress(verdict);
  records.egress({
    phase,
    via,
    asked: host,
    port,
    verdict,
    rule,
    addresses: resolved,
    dialled,
    seen: seen?.name ?? null,
    bytesIn: bytes?.received ?? 0,
    bytesOut: bytes?.sent ?? 0,
    ...(secrets.length === 0 ? {} : { secrets }),
  });
}
