/**
 * Kept sandboxes of the linux backend: `ak-jail keep` is the process that owns one, and this folder speaks to it over
 * the socket in the sandbox's state folder. It never touches what the sandbox writes, and it ends nothing when it lets
 * go. What is loaded here costs a plain run nothing but these few lines.
 */
import type { PersistentBackend } from "../../../core/backend.js";
import type { JailPrograms } from "../jail-process.js";

export function persistentJails(programs: JailPrograms): PersistentBackend {
  return {
    async start(spec, stateDir, signal) {
      const { startPersistent } = await import("./start.js");
      return await startPersistent(programs, spec, stateDir, signal);
    },
    async adopt(stateDir) {
      const { adoptPersistent } = await import("./adopt.js");
      return await adoptPersistent(programs, stateDir);
    },
    async lastEnd(stateDir) {
      const { readLastEnd } = await import("./last-end.js");
      return await readLastEnd(stateDir);
    },
    async remove(stateDir) {
      const { removePersistent } = await import("./jail-command.js");
      await removePersistent(programs, stateDir);
    },
    copies: {
      of: "files",
      async make(stateDir, into, signal) {
        const { copyPersistent } = await import("./jail-command.js");
        return await copyPersistent(programs, stateDir, into, signal);
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
