/**
 * Kept sandboxes of the linux backend: `ak-jail keep` is the process that owns one, and this folder speaks to it over
 * the socket in the sandbox's state folder. It never touches what the sandbox writes, and it ends nothing when it lets
 * go. What is loaded here costs a plain run nothing but these few lines.
 */
import type { KeptBackend } from "../../../core/backend.js";
import type { JailPrograms } from "../jail-process.js";

export function linuxKept(programs: JailPrograms): KeptBackend {
  return {
    async start(spec, stateDir, signal) {
      const { startKept } = await import("./start.js");
      return await startKept(programs, spec, stateDir, signal);
    },
    async adopt(stateDir) {
      const { adoptKept } = await import("./adopt.js");
      return await adoptKept(programs, stateDir);
    },
    async lastEnd(stateDir) {
      const { readLastEnd } = await import("./last-end.js");
      return await readLastEnd(stateDir);
    },
    async remove(stateDir) {
      const { removeKept } = await import("./jail-command.js");
      await removeKept(programs, stateDir);
    },
    copies: {
      of: "files",
      async make(stateDir, into, signal) {
        const { copyKept } = await import("./jail-command.js");
        return await copyKept(programs, stateDir, into, signal);
      },
    },
    changes: {
      async list(...of) {
        const { linuxChanges } = await import("./changes.js");
        return await linuxChanges(programs).list(...of);
      },
      async *patch(...of) {
        const { linuxChanges } = await import("./changes.js");
        yield* linuxChanges(programs).patch(...of);
      },
      async apply(...of) {
        const { linuxChanges } = await import("./changes.js");
        return await linuxChanges(programs).apply(...of);
      },
    },
  };
}
