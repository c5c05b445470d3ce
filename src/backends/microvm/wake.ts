/** What a machine is told when it becomes somebody's (native/init/src/wake.rs). A machine is a copy until then. */
import { randomBytes } from "node:crypto";
import type { BootSpec } from "../../core/backend.js";
import type { EntryOrder } from "../entry/order.js";

export interface WakeParts {
  /** The machine is to stay when its sandbox has ended, and tells of that by these bytes. */
  readonly token: Buffer | null;
  /** The guest waits inside its walls: of the order, only what is one's own is told. */
  readonly rest: Pick<EntryOrder, "trustedCertificate" | "trees" | "listed"> | null;
}

export function wakeMessage(boot: BootSpec, { token, rest }: WakeParts): string {
  const now = Date.now();
  return JSON.stringify({
    version: 1,
    seconds: Math.floor(now / 1000),
    nanoseconds: (now % 1000) * 1_000_000,
    entropy: randomBytes(64).toString("hex"),
    hostname: boot.hostname,
    machineId: randomBytes(16).toString("hex"),
    token: token?.toString("hex") ?? null,
    rest:
      rest === null
        ? null
        : { trustedCertificate: rest.trustedCertificate, trees: rest.trees, listed: rest.listed },
  });
}
