/**
 * What every run of a test has unless it is about images: no registry of the world outside is ever asked. Where a
 * project is about another backend (chosen-backend.ts), every run in it is on that one.
 */
import { chosenBackend } from "./chosen-backend.js";

export const testSettings: Readonly<Record<string, string>> = {
  AGENTKERNEL_IMAGE: "host",
  AGENTKERNEL_PULL: "never",
  ...chosenBackend?.settings,
};
