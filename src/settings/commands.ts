/** Limits of one command. */
import { numeric } from "./numeric-setting.js";
import { milliseconds } from "./quantity.js";

const HOUR_MS = 3_600_000;

export const commandSettings = {
  "resources.timeoutMs": numeric({
    quantity: milliseconds,
    min: 1,
    // Timers of the runtime hold at most 2^31 - 1 ms.
    max: 576 * HOUR_MS,
    default: null,
    flag: "timeout",
    key: "timeout_ms",
    jsonPath: "timeout_ms",
    policyFile: {
      path: "proc.wall_timeout",
      form: "text",
      help: "Time that a command has, for example 30s or 10m.",
    },
    keyCeiling: HOUR_MS,
    help: "time that a command has",
    example: "30s, 10m or 1h30m",
    summary: "a command",
    capability: "timeout",
  }),
};
