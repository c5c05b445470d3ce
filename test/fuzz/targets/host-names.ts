/** What a connection is asked to: one canonical form, which is its own. */
import type { Buffer } from "node:buffer";
import { parseAuthority, parseHost } from "../../../src/egress/host.js";
import { Rules } from "../../../src/egress/rules.js";

const rules = new Rules({ egress: "allowlist", allow: [{ domain: "*.a.example" }], deny: [] });

export function run(data: Buffer): void {
  const text = data.toString("utf8");
  parseAuthority(text);
  const host = parseHost(text);
  if (host.kind !== "name") return;
  const again = parseHost(host.name);
  if (again.kind !== "name" || again.name !== host.name) throw new Error(`${host.name} is not its own form`);
  const { allowed } = rules.judgeName(host.name, 443);
  if (allowed && !host.name.endsWith(".a.example")) throw new Error(`${host.name} is allowed`);
}
