/** The certificate and the key of a server, each refused by its own name for its own fault. */
import type { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { AgentKernelError } from "../../core/errors.js";
import { fileReason } from "../../core/file-reason.js";

export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

export function readTlsFiles({ certPath, keyPath }: TlsFiles): { readonly cert: Buffer; readonly key: Buffer } {
  const cert = readPem("--tls-cert", certPath);
  const key = readPem("--tls-key", keyPath);
  const refuse = (what: string, hint: string) => (cause: unknown) => {
    throw new AgentKernelError("invalid_argument", what, { hint, cause });
  };
  attempt(
    { cert },
    refuse(
      `--tls-cert: ${certPath} is no certificate in PEM`,
      "it begins with a line -----BEGIN CERTIFICATE-----; intermediate ones may follow",
    ),
  );
  attempt(
    { key },
    refuse(
      `--tls-key: ${keyPath} is no private key in PEM, or has a passphrase`,
      "name the file that was made with the certificate, without a passphrase",
    ),
  );
  attempt(
    { cert, key },
    refuse(
      `--tls-key: ${keyPath} is not the key of the certificate ${certPath}`,
      "name the two files that were made together",
    ),
  );
  return { cert, key };
}

function attempt(parts: Parameters<typeof createSecureContext>[0], onFault: (cause: unknown) => void): void {
  try {
    createSecureContext(parts);
  } catch (error) {
    onFault(error);
  }
}

function readPem(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", `${option}: ${path} cannot be read: ${fileReason(cause)}`, {
      hint: "correct the path, or the rights of the file",
      cause,
    });
  }
}
