/** Does for TLS what Node would have done at its start, had NODE_EXTRA_CA_CERTS not been held back from it. */
import { readFileSync } from "node:fs";
import tls, { type SecureContext, type SecureContextOptions } from "node:tls";
import { releaseHeldAuthorities } from "./held-authorities.js";

const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END [A-Z0-9 ]+-----/g;

/** To be called before the first connection by TLS, by whoever leaves it to Node whom to trust. */
export function trustHeldAuthorities(): void {
  const path = releaseHeldAuthorities();
  if (path === null) return;
  const certificates = readCertificates(path);
  if (certificates.length === 0) return;
  const createContext = tls.createSecureContext;
  // Everything of Node's that connects by TLS (https and fetch too) makes its contexts through this one member.
  Reflect.set(tls, "createSecureContext", (options?: SecureContextOptions): SecureContext => {
    const made = createContext(options);
    if (options?.ca === undefined) add(made, certificates);
    return made;
  });
}

/** Adding to a context is cheap; to name all authorities anew for each would not be. */
function add({ context }: SecureContext, certificates: readonly string[]): void {
  const native = context as { addCACert(certificate: string): void };
  for (const certificate of certificates) native.addCACert(certificate);
}

/** Where they cannot be read Node warns and goes on, trusting fewer. */
function readCertificates(path: string): readonly string[] {
  try {
    return readFileSync(path, "latin1").match(CERTIFICATE) ?? [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.emitWarning(`Ignoring extra certs from \`${path}\`, load failed: ${why}`);
    return [];
  }
}
