/**
 * The kernel's list of this machine's connections, read for many who ask at once: its length is everybody's doing, so it
 * is read beside the event loop, by one reader at a time, and looked through once a reading.
 */
import { readFile } from "node:fs/promises";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** By both ends as the kernel writes them. */
export type Owners = ReadonlyMap<string, number>;

const ESTABLISHED = "01";

/** Of the sockets that are connected and belong to a process. */
export function ownersIn(table: string): Owners {
  const owners = new Map<string, number>();
  for (const line of table.split("\n").slice(1)) {
    const [, local, remote, state, , , , user, , inode] = line.trim().split(/\s+/);
    // A socket that its process has closed belongs to nobody, and kernels list nobody's as root's.
    if (state !== ESTABLISHED || inode === undefined || inode === "0") continue;
    owners.set(`${local} ${remote}`, Number(user));
  }
  return owners;
}

export class PeerTable {
  readonly #read: () => Promise<Owners>;
  #reading: Promise<Owners> | null = null;
  #next: Promise<Owners> | null = null;

  constructor(read: () => Promise<Owners> = readTables) {
    this.#read = read;
  }

  /** As it was at some moment from now on: one that was being read already may lack whoever has just come. */
  now(): Promise<Owners> {
    this.#next ??= this.#after(this.#reading);
    return this.#next;
  }

  async #after(earlier: Promise<Owners> | null): Promise<Owners> {
    await earlier?.catch(() => {});
    this.#reading = this.#next;
    this.#next = null;
    return await this.#read();
  }
}

async function readTables(): Promise<Owners> {
  const owners = new Map<string, number>();
  for (const path of TABLES) {
    // A kernel without IPv6, or a /proc that shows none of it.
    const table = await readFile(path, "latin1").catch(() => "");
    for (const [ends, user] of ownersIn(table)) owners.set(ends, user);
  }
  return owners;
}
