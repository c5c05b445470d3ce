/** The digest of a file that may be large: read in parts. */
import { createReadStream } from "node:fs";

/** In hexadecimal. */
export async function sha256OfFile(path: string): Promise<string> {
  // Hashing is loaded when it is first needed.
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256");
  for await (const part of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(part as Buffer);
  return hash.digest("hex");
}
