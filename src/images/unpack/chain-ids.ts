/** Names for unpacked layers. What a layer looks like unpacked depends on those below it, so its name does too. */
import { createHash } from "node:crypto";
import { type Digest, digestHex } from "../digest.js";

/** Hex names, lowest first. */
export function chainIds(diffIds: readonly Digest[]): string[] {
  const names: string[] = [];
  for (const diffId of diffIds) {
    const below = names.at(-1);
    const name = below === undefined ? digestHex(diffId) : sha256Hex(`sha256:${below} ${diffId}`);
    names.push(name);
  }
  return names;
}

function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
