/** The certificate authority of a test's world: certificates for names and addresses that only the test trusts. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import type { TlsSpec } from "./messages.js";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export class Authority {
  /** The certificate to trust, as a file that everybody may read. */
  readonly certPath: string;
  readonly #folder: string;
  readonly #keyPath: string;
  #issued = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.certPath = join(folder, "authority.pem");
    this.#keyPath = join(folder, "authority.key");
    const subject = ["-subj", "/CN=authority of a test", "-addext", "keyUsage=critical,keyCertSign"];
    openssl(["req", "-x509", ...KEY, "-days", "2", ...subject, "-keyout", this.#keyPath, "-out", this.certPath]);
  }

  get certificate(): string {
    return readFileSync(this.certPath, "utf8");
  }

  issue(hosts: readonly string[]): TlsSpec {
    const base = join(this.#folder, `issued-${this.#issued++}`);
    const [key, request, cert, extensions] = [`${base}.key`, `${base}.csr`, `${base}.pem`, `${base}.ext`];
    const names = hosts.map((host) => (isIP(host) === 0 ? `DNS:${host}` : `IP:${host}`));
    writeFileSync(extensions, `subjectAltName=${names.join(",")}\nextendedKeyUsage=serverAuth\n`);
    openssl(["req", "-new", ...KEY, "-subj", "/CN=server of a test", "-keyout", key, "-out", request]);
    const signer = ["-CA", this.certPath, "-CAkey", this.#keyPath, "-CAcreateserial", "-days", "2"];
    openssl(["x509", "-req", "-in", request, ...signer, "-extfile", extensions, "-out", cert]);
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  }
}

function openssl(words: readonly string[]): void {
  execFileSync("openssl", words, { stdio: ["ignore", "ignore", "pipe"] });
}
