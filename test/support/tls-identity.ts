/** A certificate for tests, for names and addresses; whoever trusts it does so by its file. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TlsIdentity } from "./registry-scripted.js";

export interface TestIdentity extends TlsIdentity {
  readonly certPath: string;
}

/** `names` as OpenSSL writes them: `DNS:registry.test`, `IP:127.0.0.1`. */
export function tlsIdentity(folder: string, names: readonly string[], label = "tls"): TestIdentity {
  const [keyPath, certPath] = [join(folder, `${label}.key`), join(folder, `${label}.pem`)];
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${names.join(",")}`];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync("openssl", [...kind, ...subject, "-keyout", keyPath, "-out", certPath], { stdio: "ignore" });
  return { key: readFileSync(keyPath), cert: readFileSync(certPath), certPath };
}
