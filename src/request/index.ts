/**
 * src/request owns the way from what a caller asks for, in the words of `run`'s options, to a request that the runtime
 * can carry out: it finds and reads the files that have a say, resolves the policy, chooses the image and checks all that
 * can be checked without a sandbox. It starts nothing.
 */
export { type Configuration, noConfiguration, readConfiguration, userWidePath } from "./configuration.js";
export { callersImageSettings } from "./image-origin.js";
export { preparePolicy, prepareRun, wantedBackend } from "./prepare-run.js";
export {
  noStandingOptions,
  type RequestOptions,
  type StandingOptions,
  withStandingOptions,
} from "./request-options.js";
