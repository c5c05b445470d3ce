/** The built guest, started as an ordinary process with the stream as descriptor 3. It is not process 1 here. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { GuestSession, type GuestSessionOptions } from "../session.js";
import { adoptStream } from "../socket-reader.js";

const built = fileURLToPath(new URL("../../../dist/native/ak-guest", import.meta.url));

function guestBinary(): string {
  const path = process.env.AGENTKERNEL_TEST_GUEST ?? built;
  if (!existsSync(path)) throw new Error(`the guest is not built: ${path} (npm run build)`);
  return path;
}

export class RealGuest {
  readonly session: GuestSession;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;

  constructor(options: GuestSessionOptions = {}) {
    this.child = spawn(guestBinary(), [], { stdio: ["ignore", "ignore", "inherit", "pipe"] });
    this.exited = new Promise((resolve) => this.child.once("exit", resolve));
    this.session = new GuestSession(adoptStream(this.child.stdio[3] as Socket), options);
  }

  /** The guest ends when its stream does. */
  async end(): Promise<void> {
    this.session.destroy();
    await this.exited;
  }
}
