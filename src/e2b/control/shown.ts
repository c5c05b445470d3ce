/** Sandboxes as E2B's clients read them. */
import { whole } from "../../api/schema/shapes.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import type { Found } from "../context.js";
import type { ControlCall } from "./call.js";

/**
 * Clients use by this number what the service may do: below 0.6.2 they do not ask for metadata of files, which the
 * sandbox has no place for.
 */
const ENVD_VERSION = "0.5.7";

/** What their API has where a client names no time. */
export const USUAL_TIMEOUT_S = 300;
const YEAR_S = 365 * 86_400;

export const seconds = whole({ min: 0, max: 10 * YEAR_S });

/** There is one server here. */
const CLIENT_ID = "agentkernel";

/** How a sandbox is reached, with its tokens: for those alone who may see it. */
export function reachedBy({ tokens, address }: ControlCall, { name, id }: Sandbox, template: string): object {
  return {
    templateID: template,
    sandboxID: name,
    clientID: CLIENT_ID,
    envdVersion: ENVD_VERSION,
    envdAccessToken: tokens.of("envd", id),
    trafficAccessToken: tokens.of("traffic", id),
    domain: address,
  };
}

export function listed({ sandbox, record }: Found): object {
  const { resources } = sandbox.record.policy;
  const { createdAtMs } = sandbox.summary();
  return {
    templateID: record.template,
    sandboxID: sandbox.name,
    clientID: CLIENT_ID,
    startedAt: new Date(createdAtMs).toISOString(),
    endAt: endOf(record.endAtMs),
    cpuCount: Math.ceil(resources.vcpus),
    memoryMB: resources.memoryMiB,
    diskSizeMB: resources.diskMiB,
    metadata: record.metadata,
    state: stateOf(sandbox),
    envdVersion: ENVD_VERSION,
    volumeMounts: [],
  };
}

export function detailed(call: ControlCall, { sandbox, record }: Found): object {
  return {
    ...listed({ sandbox, record }),
    envdAccessToken: call.tokens.of("envd", sandbox.id),
    domain: call.address,
    allowInternetAccess: record.allowInternetAccess,
    network: { allowOut: record.allowOut, denyOut: record.denyOut, allowPublicTraffic: record.publicTraffic },
    lifecycle: { onTimeout: record.onTimeout, autoResume: record.autoResume },
  };
}

/** One that does not run comes back with a connection to it, which is what they call paused. */
export function stateOf({ state }: Pick<Sandbox, "state">): "running" | "paused" {
  return state === "running" ? "running" : "paused";
}

/** As far as a date goes, where there is no end. */
function endOf(ms: number): string {
  return new Date(Math.min(ms, Date.now() + 10 * YEAR_S * 1000)).toISOString();
}
