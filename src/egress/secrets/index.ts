/**
 * Secrets that never enter a sandbox. Inside, a secret is a placeholder; the gateway ends the TLS of the host that it
 * is bound to, verifies the real server, and puts the value into one header of the requests to it. It must never give
 * the value, or the key of the sandbox's authority, to anybody else: not to another host or header, not to a log, an
 * error, a file or another process.
 *
 * What was decided where more than one answer is defensible:
 * - A secret opens nothing. The policy must allow its host, in an allowlist by a rule of its own.
 * - Bound is a host, on every port: what counts is that a client starts with TLS there and the server proves to be the
 *   host. Whoever speaks something else (plain HTTP, SSH, STARTTLS) is carried as anywhere, with the placeholder.
 *   TLS that carries no HTTP/1.1 cannot be used on such a host.
 * - Only HTTP/1.1, by ALPN, on both sides. A client that insists on HTTP/2 (gRPC) is refused by TLS itself.
 * - The name must be in SNI and in every request's Host; a difference is refused, also with egress `on`. TRACE,
 *   CONNECT, absolute addresses and changes of protocols other than to WebSocket are refused.
 * - Requests are read strictly (no bare CR or LF, no chunk extensions): a head that a server takes for a body would
 *   store the secret where the sandbox can read it.
 * - Answers that echo the value (as it is, in a URL, in JSON or in base64) get the placeholder in heads, and a mask of
 *   the same length in bodies. To that end no packing is asked for (Accept-Encoding becomes identity, TE is left out),
 *   and the last few hundred bytes of an unfinished body wait up to 10 ms. Not covered: what a server packs or codes in
 *   other ways, or sends in parts with a pause between; frames of a WebSocket that a value is spread over, or that
 *   are packed; parts of a value asked for by ranges. A secret is as safe as its host is discreet.
 * - A sandbox can use the secret as its header allows, as often as it likes; it just cannot read it. What the host
 *   gives for it (a session's cookie, a token made from it) is inside like any other answer.
 * - Revocation of server certificates is not asked for, as by most programs.
 */
export { parseSecretArgument } from "./argument.js";
export type { Authority } from "./authority.js";
export {
  type BoundSecret,
  createSandboxSecrets,
  type SandboxSecrets,
  type SecretRequest,
  secretEnvironment,
} from "./bound-secret.js";
export {
  systemBundles,
  type TrustFile,
  type TrustFiles,
  trustEnvironment,
  trustFiles,
  trustVariables,
} from "./trust.js";
export type { SecretValue } from "./value.js";
