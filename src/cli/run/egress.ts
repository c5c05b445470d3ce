/** A run's way out of its sandbox: none, or the gateway under the run's policy, with every decision on record. */
import type { EgressDecision } from "../../egress/index.js";
import { SandboxEgress } from "../../runtime/sandbox-egress.js";
import type { RunRequest } from "../run-request.js";
import type { Asker } from "./ask.js";
import type { RunAudit } from "./audit.js";

export interface RunEgress {
  readonly port: SandboxEgress;
  close(): Promise<void>;
}

export async function openEgress(request: RunRequest, audit: RunAudit): Promise<RunEgress | null> {
  const { net } = request.policy;
  if (net.egress === "off") return null;
  const asker: Asker | null = request.ask ? (await import("./ask.js")).terminalAsker() : null;
  const port = new SandboxEgress({
    sandbox: audit.id,
    rules: () => net,
    env: request.hostEnv,
    onDecision: (decision) => record(audit, decision),
    ask: asker?.ask,
  });
  return {
    port,
    close: async () => {
      await port.close();
      asker?.close();
    },
  };
}

function record({ records }: RunAudit, decision: EgressDecision): void {
  const { phase, via, host, port, verdict, rule, resolved, dialled, seen, bytes } = decision;
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
  });
}
