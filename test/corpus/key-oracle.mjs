// Whether a file holds a private key, told in another way than the product does: by OpenSSL where it can read it, else by
// the few bytes that its format begins with.
import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";

/** JKS, JCEKS, KeePass 2 and 1. */
const stores = ["feedfeed", "cececece", "03d9a29a67fb4bb5", "03d9a29a65fb4bb5"];

export function holdsKey(path) {
  if (!lstatSync(path).isFile()) return false;
  const bytes = readFileSync(path);
  const hex = bytes.subarray(0, 8).toString("hex");
  if (stores.some((start) => hex.startsWith(start))) return true;
  const text = bytes.toString("latin1");
  if (/-----BEGIN (PGP PRIVATE KEY BLOCK|OPENSSH PRIVATE KEY|ENCRYPTED PRIVATE KEY)-----\s/.test(text)) return true;
  if (/-----BEGIN ([A-Z0-9]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/=:\-, \r\n]{64}/.test(text)) return true;
  if (/^PuTTY-User-Key-File-\d:|^AGE-SECRET-KEY-1/m.test(text)) return true;
  return opens(["pkey", "-noout", "-passin", "pass:"], bytes) || isPkcs12(bytes);
}

function opens(words, input) {
  return spawnSync("openssl", words, { input, stdio: ["pipe", "ignore", "ignore"] }).status === 0;
}

/** A PFX is a sequence that begins with version 3; whether its password is known does not matter. */
function isPkcs12(bytes) {
  const { stdout } = spawnSync("openssl", ["asn1parse", "-inform", "DER"], { input: bytes, encoding: "utf8" });
  const lines = (stdout ?? "").split("\n");
  return /INTEGER +:03$/.test(lines[1] ?? "") && /pkcs7-(signed)?[dD]ata/.test(lines[3] ?? "");
}
