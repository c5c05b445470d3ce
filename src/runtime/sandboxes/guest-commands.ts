/** Whoever keeps account of commands in a sandbox, told of its runs together. */
import type { GuestSession } from "../../guest/index.js";

export interface GuestCommands {
  /** What earlier processes had started. Without a session none of it runs any more. */
  load(session: GuestSession | null): Promise<void>;
  /** The sandbox has ended: so has everything in it. */
  end(): Promise<void>;
  /** The sandbox runs on without us. */
  release(): void;
}

export function together(...all: readonly GuestCommands[]): GuestCommands {
  return {
    load: async (session) => {
      for (const one of all) await one.load(session);
    },
    end: async () => {
      for (const one of all) await one.end();
    },
    release: () => {
      for (const one of all) one.release();
    },
  };
}
