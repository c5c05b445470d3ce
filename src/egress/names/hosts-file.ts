/** Names that this machine's hosts file gives addresses to. Read again whenever it has changed. */
import { readFile, stat } from "node:fs/promises";
import { parseAddress } from "../../core/address/address.js";

const PATH = "/etc/hosts";
/** A file of this size is a list of names to block, which is read all the same; beyond it nothing is. */
const MOST_BYTES = 16 * 1024 * 1024;

export class HostsFile {
  readonly #path: string;
  #version = "";
  #names: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(path = PATH) {
    this.#path = path;
  }

  async addresses(name: string): Promise<readonly string[]> {
    await this.#refresh();
    return this.#names.get(name.toLowerCase()) ?? [];
  }

  async #refresh(): Promise<void> {
    const version = await versionOf(this.#path);
    if (version === this.#version) return;
    this.#names = version === null ? new Map() : parseHosts(await readFile(this.#path, "latin1"));
    this.#version = version ?? "";
  }
}

/** What changes with the file; null where there is none, or none that is read. */
export async function versionOf(path: string): Promise<string | null> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return size > MOST_BYTES ? null : [ino, size, mtimeMs, ctimeMs].join(" ");
  } catch {
    return null;
  }
}

export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...own] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (parseAddress(address) === null) continue;
    for (const name of own) {
      const known = names.get(name.toLowerCase());
      if (known === undefined) names.set(name.toLowerCase(), [address]);
      else if (!known.includes(address)) known.push(address);
    }
  }
  return names;
}
