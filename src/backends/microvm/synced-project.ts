/** A project that was copied into a machine, and its way back when the sandbox has ended and the machine has not. */
import { randomBytes } from "node:crypto";
import type { BootSpec, CarryReport } from "../../core/backend.js";
import { AgentKernelError } from "../../core/errors.js";
import { within } from "../../core/within.js";
import {
  beginProject,
  bringChanges,
  carryChanges,
  limitChanges,
  removeProject,
  temporaryProject,
  writeListing,
} from "../entry/copied-project.js";
import { hear } from "../entry/talk.js";
import type { CopiedView } from "../entry/views.js";
import type { MachineStream } from "./machine-stream.js";

const TOKEN_BYTES = 32;
/** Until everything in the sandbox has ended. */
const END_MS = 60_000;

interface Carried {
  readonly carried: CarryReport;
  readonly oomKills: number;
}

export class SyncedProject {
  readonly token = randomBytes(TOKEN_BYTES);
  readonly #stateDir: string;
  #carrying: Promise<unknown> = Promise.resolve();

  private constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  /** Before anything is read of it. */
  static async begin(folder: string, view: CopiedView, boot: BootSpec): Promise<SyncedProject> {
    const stateDir = await temporaryProject(folder, boot.id);
    try {
      await beginProject(stateDir, view, boot);
      await limitChanges(stateDir, boot);
      return new SyncedProject(stateDir);
    } catch (error) {
      await removeProject(stateDir);
      throw error;
    }
  }

  /** The guest speaks from here on. */
  begins(stream: MachineStream): void {
    stream.endsWith(this.token);
  }

  async isInPlace(listing: Buffer | null): Promise<void> {
    if (listing === null) throw new AgentKernelError("internal", "the machine did not list the project");
    await writeListing(this.#stateDir, listing);
  }

  /** Ends the sandbox, and with it the machine, as soon as that has told its changes. */
  carry(stream: MachineStream): Promise<Carried> {
    const carrying = this.#carry(stream);
    this.#carrying = carrying.catch(() => {});
    return carrying;
  }

  async #carry(stream: MachineStream): Promise<Carried> {
    const rest = await within(END_MS, stream.letGo(), () => {
      throw new AgentKernelError("sandbox_died", `the sandbox did not end within ${END_MS / 1000} s`);
    });
    try {
      const { said, oomKills } = await hear(rest);
      if (said !== "ended") throw new AgentKernelError("internal", "the machine said something unexpected at its end");
      await bringChanges(this.#stateDir, rest, "last");
      const carried = await carryChanges(this.#stateDir);
      return { carried, oomKills: typeof oomKills === "number" ? oomKills : 0 };
    } finally {
      rest.destroy();
    }
  }

  /** The machine may be gone long before what it told is carried over. */
  async forget(): Promise<void> {
    await this.#carrying;
    await removeProject(this.#stateDir);
  }
}
