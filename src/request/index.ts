/**
 * src/request owns the way from the typed request of a caller (run-spec.ts) to one that the runtime can carry out: it finds and reads the files that have a say, resolves the policy, chooses the image and checks all that
 * can be checked without a sandbox. It starts nothing.
 */
export { type Configuration, noConfiguration, readConfiguration, userWidePath } from "./configuration.js";
export { callersImageSettings } from "./image-origin.js";
export { preparePolicy, prepareRun, wantedBackend } from "./prepare-run.js";
export { type RunSpec, type SandboxSpec, type StandingSpec, withStanding } from "./run-spec.js";
