/**
 * The egress gateway: the only way out of a sandbox. It owns what a destination is (one canonical form of names and
 * addresses), what a policy says about it, resolving, dialling, the bytes, and the limits on all of these. It must
 * never resolve a name that is not allowed, dial an address that it did not check, dial a name, or let one sandbox's
 * connections take from another's. It changes no policy and writes no log: decisions are values for others.
 *
 * What was decided where more than one answer is defensible:
 * - A name with several addresses of which some are not public: those are passed over, the public ones are dialled.
 * - Allowed by a name (`allowlist`): TLS must carry exactly that name as SNI, and each HTTP/1 request that Host. TLS
 *   without SNI is refused, and so is an encrypted ClientHello: what it hides may name another site of the same
 *   provider, and a browser's decoy (GREASE) cannot be told from it. HTTP/2 without TLS is refused: its hosts are
 *   unreadable. So are requests without a version and RTSP, in which some servers read a Host, and SOCKS, which leads
 *   to another host. Other protocols pass: an allowed host is trusted with its own port.
 * - In `on`, names are compared with the deny rules only. A deny rule for a domain cannot recognise a raw address whose
 *   bytes name nobody; deny its `cidr` as well.
 * - The Host inside TLS is not seen. A provider that serves another customer's site under an allowed SNI can be used
 *   to reach that site. For hosts that secrets are bound to TLS is ended, and the Host compared (`secrets/`).
 * - With a proxy of the user's own, that proxy resolves names: the policy on names, ports and literal addresses holds,
 *   the check of resolved addresses cannot. Destinations that NO_PROXY names are dialled here, with every check.
 */
export type { ApprovalChoice, Ask, Question } from "./approval.js";
export type { EgressDecision } from "./decision.js";
export { createGateway, type Gateway } from "./gateway.js";
/** Making them is in `secrets/index.js`, which is loaded where there are any. */
export type { SandboxSecrets } from "./secrets/bound-secret.js";
export { upstreamFromEnvironment } from "./upstream/settings.js";
