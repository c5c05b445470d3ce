/**
 * How the programs in a sandbox come to trust its authority. Most read the system's bundle; those with a list of their
 * own are told by a variable. Pure: which files there have to be and what they hold, not where they are put.
 *
 * Not reached this way: Java (its key store has no variable), programs with pinned certificates, and browsers with a
 * profile of their own. They see a certificate that they do not know and refuse it, which gives nothing away.
 */

/** Where images (and hosts) keep the bundle that OpenSSL, GnuTLS, Go and others read. */
export const systemBundles: readonly string[] = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** `bundle` takes the place of a program's own list, so it has that too; `own` is added to it. */
type TrustFile = "bundle" | "own";

const trustVariables: Readonly<Record<string, TrustFile>> = {
  SSL_CERT_FILE: "bundle",
  CURL_CA_BUNDLE: "bundle",
  REQUESTS_CA_BUNDLE: "bundle",
  PIP_CERT: "bundle",
  HTTPLIB2_CA_CERTS: "bundle",
  GIT_SSL_CAINFO: "bundle",
  CARGO_HTTP_CAINFO: "bundle",
  AWS_CA_BUNDLE: "bundle",
  CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: "bundle",
  GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: "bundle",
  NIX_SSL_CERT_FILE: "bundle",
  PERL_LWP_SSL_CA_FILE: "bundle",
  COMPOSER_CAFILE: "bundle",
  HEX_CACERTS_PATH: "bundle",
  NODE_EXTRA_CA_CERTS: "own",
  DENO_CERT: "own",
};

type TrustFiles = Readonly<Record<TrustFile, string>>;

/** The files' contents. `imageBundle`: what the image trusts already; null where it has no such file. */
export function trustFiles(certificatePem: string, imageBundle: string | null): TrustFiles {
  const base = imageBundle === null || imageBundle === "" ? "" : `${imageBundle.trimEnd()}\n`;
  return { bundle: `${base}${certificatePem}`, own: certificatePem };
}

/** `paths`: where the two files lie inside the sandbox. */
export function trustEnvironment(paths: TrustFiles): Record<string, string> {
  return Object.fromEntries(Object.entries(trustVariables).map(([name, file]) => [name, paths[file]]));
}
