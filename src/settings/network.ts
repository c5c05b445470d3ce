/** Limits of a sandbox's network. */
import { numeric } from "./numeric-setting.js";
import { count } from "./quantity.js";

const USUAL_CONNECTIONS = 2048;

export const networkSettings = {
  "resources.maxConnections": numeric({
    quantity: count,
    min: 1,
    // One channel of the guest protocol each (MAX_GUEST_CHANNELS).
    max: 4096,
    default: USUAL_CONNECTIONS,
    flag: "max-connections",
    key: "max_connections",
    policyFile: { path: "net.max_connections", form: "number", help: "Connections to the network at once." },
    keyCeiling: USUAL_CONNECTIONS,
    help: "connections to the network at once",
    example: "64",
    summary: "connections",
    capability: "network",
  }),
};
