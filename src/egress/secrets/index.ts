export { createSandboxSecrets, secretEnvironment } from "./bound-secret.js";
export { trustEnvironment } from "./trust.js";
