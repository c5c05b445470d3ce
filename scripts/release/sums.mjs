// Checksums of a release's files, and the signature of that list.
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function digestOf(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** Every file but the list itself, by name. */
export function writeSums(folder) {
  const names = readdirSync(folder).filter((name) => !name.startsWith("SHA256SUMS"));
  const lines = names.sort().map((name) => `${digestOf(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

/** Ed25519: the same key and list always give the same signature. */
export function signSums(folder, key) {
  const signature = sign(null, readFileSync(join(folder, "SHA256SUMS")), key);
  writeFileSync(join(folder, "SHA256SUMS.sig"), `${signature.toString("base64")}\n`);
}

export function readKey(path) {
  const key = createPrivateKey(readFileSync(path));
  if (key.asymmetricKeyType !== "ed25519") {
    throw new Error(`${path} is no Ed25519 key; openssl genpkey -algorithm ed25519 makes one`);
  }
  return key;
}

/** As the install script has it: one line. */
export function publicKeyText(key) {
  return createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64");
}
