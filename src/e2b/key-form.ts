/**
 * Keys of ours as E2B's SDKs take them: some versions refuse any key that is not `e2b_` and hexadecimal digits. The
 * digits are the bytes of our key, so there is one key with two spellings, and nothing more to store or to revoke.
 */
import { Buffer } from "node:buffer";

const FORM = /^e2b_((?:[0-9a-f]{2})+)$/;

export function toE2bKey(key: string): string {
  return `e2b_${Buffer.from(key).toString("hex")}`;
}

/** A key in our own spelling is taken as it is. */
export function fromE2bKey(text: string): string {
  const digits = FORM.exec(text)?.[1];
  return digits === undefined ? text : Buffer.from(digits, "hex").toString("latin1");
}
