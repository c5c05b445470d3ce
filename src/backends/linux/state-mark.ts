/**
 * What supervisors show of the state directory that they work for, as a word of their command line: its path might say
 * more to other users than they should know. One daemon may serve callers with different state directories, so the
 * supervisor computes it from its own specification (native/jail/src/supervisor.rs).
 */
import { Buffer } from "node:buffer";

const OFFSET_BASIS = 0xcbf2_9ce4_8422_2325n;
const PRIME = 0x100_0000_01b3n;

/** A word of the mark's length, which the supervisor overwrites. */
export const NO_MARK = "-".repeat(16);

/** FNV-1a of the journal's path. */
export function stateMark(journalDir: string): string {
  let hash = OFFSET_BASIS;
  for (const byte of Buffer.from(journalDir)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash.toString(16).padStart(16, "0");
}
