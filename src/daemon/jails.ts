/** How a daemon starts jails: by a launcher that is much smaller than itself, replaced should it die. */
import { JailLauncher } from "../backends/linux/jail-launcher.js";
import type { JailStarter, StartedJail } from "../backends/linux/jail-start.js";
import { nativeBinary } from "../core/native-binary.js";
import { shortPath } from "./socket-folder.js";

export class ResidentJails implements JailStarter {
  readonly #folder: string;
  #launcher: Promise<JailLauncher> | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<void> {
    await this.#ready();
  }

  async start(): Promise<StartedJail> {
    const launcher = await this.#ready();
    try {
      return await launcher.start();
    } catch (error) {
      // It died with the order in its hands; the next one starts with nothing of it.
      if (!launcher.isGone) throw error;
      return await (await this.#ready()).start();
    }
  }

  close(): void {
    void this.#launcher?.then((launcher) => launcher.close());
  }

  async #ready(): Promise<JailLauncher> {
    const known = this.#launcher;
    if (known !== null && !(await known).isGone) return await known;
    // Of those who find it gone at the same moment, the first replaces it.
    if (this.#launcher === known) {
      const place = { folder: this.#folder, shortPath: shortPath(this.#folder) };
      const opened = JailLauncher.open(nativeBinary("ak-jail"), place);
      this.#launcher = opened;
      // What could not be opened now may be the next time.
      opened.catch(() => {
        if (this.#launcher === opened) this.#launcher = null;
      });
    }
    return await (this.#launcher ?? this.#ready());
  }
}
