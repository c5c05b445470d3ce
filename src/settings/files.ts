/** Limits of what a sandbox sees as files. */
import { numeric } from "./numeric-setting.js";
import { mebibytes } from "./quantity.js";

export const fileSettings = {
  "fs.tmpMiB": numeric({
    quantity: mebibytes,
    min: 1,
    max: 1024 * 1024,
    default: 256,
    policyFile: { path: "fs.tmp.size_mb", form: "number", help: "Size of /tmp in MiB." },
    help: "size of /tmp",
    example: "256m",
    summary: "of /tmp",
  }),
};
