/**
 * Starts a machine where it, or the one that it is a copy of, was saved while it ran: with its processes, and as another
 * machine before any of them runs on.
 */
import { AgentKernelError } from "../../../core/errors.js";
import { startPersistentJail } from "../../linux/persistent/start.js";
import { continuedLayers, explained } from "../machine-report.js";
import { monitorJail } from "../monitor-jail.js";
import type { MicrovmOptions } from "../options.js";
import { shapeFor } from "../shape-for.js";
import { wakeMessage } from "../wake.js";
import { diskPath } from "./disk.js";
import { dropTaken, emptyMemory, insistOnSame, type MemoryMarks, marksOf, takeSaved } from "./memory.js";
import type { StartedMachine } from "./owned-machine.js";
import { type MachineRecord, writeRecord } from "./record.js";
import { wakeCopy } from "./task.js";

interface Continued {
  readonly stateDir: string;
  readonly record: MachineRecord;
  readonly saved: MemoryMarks;
  readonly trustedCertificate: string | null;
}

export async function continueMachine(
  options: MicrovmOptions,
  { stateDir, record, saved, trustedCertificate }: Continued,
  signal?: AbortSignal,
): Promise<StartedMachine> {
  const { programs, vmmBinary } = options;
  const shape = await shapeFor(options, { ...record, first: () => record.first }, signal);
  insistOnSame(saved, shape);
  signal?.throwIfAborted();
  // Noted first: whoever takes over what a killed process left has no use for a machine that is not one of its own yet.
  writeRecord(stateDir, { ...record, isWaking: true });
  try {
    const start = { does: "continue", saved: await takeSaved(stateDir) } as const;
    const keeps = { disk: diskPath(stateDir), memory: await emptyMemory(stateDir) };
    const { journalDir } = programs;
    const spec = monitorJail({ shape, start, vcpus: record.resources.vcpus, vmmBinary, journalDir, keeps });
    const jail = await startPersistentJail(programs, spec, stateDir, signal);
    try {
      const machineId = Buffer.from(record.machineId, "hex");
      const rest = { trustedCertificate, git: null, trees: [], listed: null, project: null };
      await wakeCopy(stateDir, wakeMessage(record, { token: null, rest, machineId }), signal);
      signal?.throwIfAborted();
      const layers = continuedLayers(shape, jail.layers, record.layers);
      const started = { ...record, isWaking: false, layers, marks: marksOf(shape) };
      writeRecord(stateDir, started);
      return { jail, record: started };
    } catch (error) {
      const { said } = await jail.kill().catch(() => ({ said: undefined }));
      throw explained(error, said);
    }
  } catch (error) {
    writeRecord(stateDir, { ...record, isWaking: false });
    throw signal?.aborted ? signal.reason : lost(error);
  } finally {
    await dropTaken(stateDir);
  }
}

/** The files are as they were; what ran is nowhere any more but in the snapshot. */
function lost(error: unknown): AgentKernelError {
  const why = error instanceof Error ? error.message : String(error);
  return new AgentKernelError("sandbox_start_failed", `what was saved in memory could not go on: ${why}`, {
    hint: "its files are all there, and the next start begins with them; a snapshot can be restored again",
    cause: error,
  });
}
