/** `agentkernel.toml` of a project and of the user: a value, or faults that name a place. */
import type { Buffer } from "node:buffer";
import { readConfigFile } from "../../../src/config/config-file.js";
import { checkReading } from "../reading.js";

export async function run(data: Buffer): Promise<void> {
  const file = { name: "a.toml", bytes: data };
  for (const owner of ["project", "user"] as const) checkReading(await readConfigFile(file, owner));
}
