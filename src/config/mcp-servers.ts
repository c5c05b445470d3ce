/** The hosts that a project's MCP configuration names, for the preset `mcp-servers`. */
import type { NetworkRule } from "../core/policy.js";
import { whyInvalidDomain } from "../policy/network-rules.js";

export interface McpServers {
  readonly rules: readonly NetworkRule[];
  /** Addresses that no rule of a name can speak of: loopback, IP addresses, other schemes. */
  readonly skipped: readonly string[];
}

/** Where agents keep their list of servers, and the keys under which a server's address is written. */
const listKeys = ["mcpServers", "mcp"];
const addressKeys = ["url", "httpUrl", "serverUrl"];
const defaultPorts: Readonly<Record<string, number>> = { "https:": 443, "http:": 80, "wss:": 443, "ws:": 80 };

/** Files of a project, relative to its folder, that may have such a list. */
export const mcpConfigFiles = [
  ".mcp.json",
  ".claude/settings.json",
  ".claude/settings.local.json",
  ".gemini/settings.json",
  "opencode.json",
] as const;

/** Throws a SyntaxError where the text is no JSON. */
export function mcpServerHosts(json: string): McpServers {
  const rules = new Map<string, NetworkRule>();
  const skipped: string[] = [];
  for (const address of addressesIn(JSON.parse(json))) {
    const rule = ruleFor(address);
    if (rule === null) skipped.push(address);
    else rules.set(JSON.stringify(rule), rule);
  }
  return { rules: [...rules.values()], skipped };
}

function addressesIn(root: unknown): readonly string[] {
  return listKeys
    .map((key) => property(root, key))
    .filter((servers) => typeof servers === "object" && servers !== null)
    .flatMap((servers) => Object.values(servers as object))
    .flatMap((server: unknown) => addressKeys.map((key) => property(server, key)))
    .filter((address) => typeof address === "string");
}

function property(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
}

function ruleFor(address: string): NetworkRule | null {
  if (!URL.canParse(address)) return null;
  const { protocol, hostname, port } = new URL(address);
  const known = defaultPorts[protocol];
  if (known === undefined || hostname.startsWith("*") || whyInvalidDomain(hostname) !== null) return null;
  return { domain: hostname.toLowerCase(), ports: [port === "" ? known : Number(port)] };
}
