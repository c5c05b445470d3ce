/** What a sandbox can reach: everything public, nothing, what its allowlist names, or the domains named here. */
export type Network =
  | boolean
  | "on"
  | "off"
  | "allowlist"
  | { readonly enabled?: boolean; readonly allowedDomains?: readonly string[] };
