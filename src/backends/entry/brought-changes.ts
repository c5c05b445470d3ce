/** Changes of a project that lies where the host cannot look: they are brought over before anything is told of them. */
import type { PersistentChanges } from "../../core/changes.js";
import { linuxChanges } from "../linux/persistent/changes.js";

export function broughtChanges(bring: (stateDir: string) => Promise<void>): PersistentChanges {
  const told = linuxChanges({});
  return {
    async list(stateDir, ...rest) {
      await bring(stateDir);
      return await told.list(stateDir, ...rest);
    },
    async *patch(stateDir, ...rest) {
      await bring(stateDir);
      yield* told.patch(stateDir, ...rest);
    },
    async apply(stateDir, ...rest) {
      await bring(stateDir);
      return await told.apply(stateDir, ...rest);
    },
  };
}
