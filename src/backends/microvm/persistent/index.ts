/**
 * Machines that outlive their owner: `ak-jail keep` holds the jail around the monitor, as it holds any other sandbox that
 * stays, and what the sandbox writes lies on a disk of the machine's own in the state folder. This folder starts such
 * machines, takes them over and asks them; it never looks into a disk.
 */
import type { PersistentBackend } from "../../../core/backend.js";
import { inTurn } from "../../entry/in-turn.js";
import { adoptPersistent } from "../../linux/persistent/adopt.js";
import { removePersistent } from "../../linux/persistent/jail-command.js";
import { type MicrovmOptions, usualHeartbeat } from "../options.js";
import { carryAtStop, machineChanges } from "./changes.js";
import { machineCopies } from "./copies.js";
import { lastEndOf } from "./last-end.js";
import { emptyMemory } from "./memory.js";
import { OwnedMachine, type StartedMachine } from "./owned-machine.js";
import { readRecord } from "./record.js";
import { startPersistentMachine } from "./start.js";

export function persistentMachines(options: MicrovmOptions): PersistentBackend {
  const { programs, heartbeat = usualHeartbeat } = options;
  const owned = (stateDir: string, { jail, record }: StartedMachine) => {
    const carry = record.isSynced ? () => carryAtStop(options, stateDir) : null;
    return new OwnedMachine({ jail, stateDir, record, carry, heartbeat });
  };
  return {
    async start(spec, stateDir, signal) {
      return owned(stateDir, await inTurn(stateDir, () => startPersistentMachine(options, spec, stateDir, signal)));
    },
    async adopt(stateDir) {
      const jail = await adoptPersistent(programs, stateDir);
      if (jail === null) return null;
      const record = readRecord(stateDir);
      if (record?.isFilled === true && !record.isAsked && record.isWaking !== true) {
        // Of whoever held it still when it was killed.
        await emptyMemory(stateDir);
        return owned(stateDir, { jail, record });
      }
      // Whoever started it died before it was of use to anybody, or had only something to ask.
      await jail.kill();
      return null;
    },
    lastEnd: lastEndOf,
    remove: (stateDir) => removePersistent(programs, stateDir),
    changes: machineChanges(options),
    copies: machineCopies(options),
  };
}
