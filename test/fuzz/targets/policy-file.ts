/** Policy files, of YAML and (where the first byte is odd) of JSON: a value, or faults that name a place. */
import type { Buffer } from "node:buffer";
import { readPolicyFile } from "../../../src/config/policy-file.js";
import { checkReading } from "../reading.js";

export async function run(data: Buffer): Promise<void> {
  const name = (data[0] ?? 0) % 2 === 0 ? "a.yaml" : "a.json";
  checkReading(await readPolicyFile({ name, bytes: data.subarray(1) }, "/p"));
}
