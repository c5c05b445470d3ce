/** What a machine is told when it becomes somebody's (native/init/src/wake.rs). A machine is a copy until then. */
import { randomBytes } from "node:crypto";
import type { BootSpec } from "../../core/backend.js";
import type { EntryOrder } from "../entry/order.js";

export interface WakeParts {
  /** The machine is to stay when its sandbox has ended, and tells of that by these bytes. */
  readonly token: Buffer | null;
  /** Of the order, where the guest waits inside its walls already and only this is one's own. */
  readonly rest: (Pick<EntryOrder, "trustedCertificate" | "git" | "trees" | "listed" | "project"> & LazyPart) | null;
  /** Of one that stays, which has it each time that it starts; any other has a new one. */
  readonly machineId?: Buffer;
}

interface LazyPart {
  /** A directory that is shown without being copied. */
  readonly lazy?: string | null;
}

const VERSION = 1;
const ENTROPY_BYTES = 64;
const MACHINE_ID_BYTES = 16;
const TOKEN_BYTES = 32;

export function newMachineId(): Buffer {
  return randomBytes(MACHINE_ID_BYTES);
}

export function wakeMessage(
  { hostname }: Pick<BootSpec, "hostname">,
  { token, rest, machineId = newMachineId() }: WakeParts,
): Buffer {
  const now = Date.now();
  const time = Buffer.alloc(13);
  time.writeUInt8(VERSION, 0);
  time.writeBigInt64LE(BigInt(Math.floor(now / 1000)), 1);
  time.writeUInt32LE((now % 1000) * 1_000_000, 9);
  const name = Buffer.from(hostname);
  return Buffer.concat([
    time,
    randomBytes(ENTROPY_BYTES),
    machineId,
    Buffer.from([token === null ? 0 : 1]),
    token ?? Buffer.alloc(TOKEN_BYTES),
    Buffer.from([name.length]),
    name,
    restText(rest),
  ]);
}

/** Nothing, where there is nothing to tell. */
function restText(rest: WakeParts["rest"]): Buffer {
  if (rest === null) return Buffer.alloc(0);
  const { trustedCertificate, git, trees, lazy = null, listed, project } = rest;
  const isEmpty = trustedCertificate === null && git === null && trees.length === 0 && lazy === null && listed === null;
  if (isEmpty) return Buffer.alloc(0);
  // A machine that was saved by an older version does not know the word.
  const shown = lazy === null ? {} : { lazy };
  return Buffer.from(JSON.stringify({ trustedCertificate, git, trees, ...shown, listed, project }));
}
