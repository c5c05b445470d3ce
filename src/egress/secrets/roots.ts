/**
 * Whom the real servers' certificates must come from: the machine's own list where it has one, so that what its owner
 * removed or added counts; Node's list elsewhere; and what NODE_EXTRA_CA_CERTS adds to either.
 */
import { readFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";
import { AgentKernelError } from "../../core/errors.js";
import { systemBundles } from "./trust.js";

export async function trustedRoots(env: Readonly<Record<string, string | undefined>>): Promise<readonly string[]> {
  const chosen = env.SSL_CERT_FILE;
  const own = chosen ? await readNamed("SSL_CERT_FILE", chosen) : await firstBundle();
  const extra = env.NODE_EXTRA_CA_CERTS ? [await readNamed("NODE_EXTRA_CA_CERTS", env.NODE_EXTRA_CA_CERTS)] : [];
  return own === null ? [...rootCertificates, ...extra] : [own, ...extra];
}

async function readNamed(variable: string, path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw new AgentKernelError("invalid_argument", `${variable} names a file that cannot be read`, {
      hint: `correct ${variable}, or unset it`,
      details: { field: variable, value: path },
      cause,
    });
  });
}

async function firstBundle(): Promise<string | null> {
  for (const path of systemBundles) {
    const bundle = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
      throw error;
    });
    if (bundle?.includes("BEGIN CERTIFICATE")) return bundle;
  }
  return null;
}
