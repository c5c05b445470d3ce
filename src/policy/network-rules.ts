/** What a network rule may say, and which of two networks is the stricter. Matching names is the gateway's work. */
import { AgentKernelError } from "../core/errors.js";
import type { EgressMode, NetworkRule } from "../core/policy.js";

export const networkPresets = [
  "package-registries",
  "anthropic",
  "openai",
  "google",
  "mcp-servers",
  "cloud-apis",
] as const;

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** Why the text is not a domain pattern, or null where it is one. Patterns are compared in lower case. */
export function whyInvalidDomain(text: string): string | null {
  if (text === "") return "it is empty";
  if (text.includes("://") || text.includes("/"))
    return "it is an address with a scheme or a path; give the name alone";
  if (text.includes("@")) return "it has a user name; give the name alone";
  if (text.includes(":") || text.includes("[")) return "it has a port or is an IPv6 address; give a name alone";
  if (text.endsWith(".")) return "it ends with a dot";
  if (text.length > 253) return "it is longer than 253 characters";
  const name = text.toLowerCase().replace(/^\*\./, "");
  if (name.includes("*")) return "it has * elsewhere than as its first label (*.example.com)";
  if (/^[0-9.]+$/.test(name) || /^0x[0-9a-f]+$/.test(name)) return "it is an address, not a name";
  const labels = name.split(".");
  const bad = labels.find((label) => !LABEL.test(label));
  if (bad !== undefined) return `"${bad}" is not a label of a domain name`;
  if (labels.length < 2)
    return text.startsWith("*.") ? "it would match a whole top-level domain" : "it has only one label";
  // A last label of digits or of hexadecimal form makes resolvers read the whole as an IPv4 address.
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) return "it is an address, not a name";
  return null;
}

export function parseDomain(field: string, text: string): string {
  const why = whyInvalidDomain(text);
  if (why !== null) {
    throw new AgentKernelError("invalid_argument", `${field}: "${text}" is not a domain: ${why}`, {
      hint: `${field} takes a name such as example.com, or *.example.com for its subdomains`,
      details: { field, value: text },
    });
  }
  return text.toLowerCase();
}

export function whyInvalidCidr(text: string): string | null {
  const match = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text);
  if (match?.[1] === undefined) return "it is not of the form address/bits";
  const [, address] = match;
  const bits = Number(match[2]);
  if (address.includes(":")) {
    if (!URL.canParse(`http://[${address}]/`)) return "its address is not an IPv6 address";
    return bits <= 128 ? null : "it has more than 128 bits";
  }
  const parts = address.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return "its address is not an IPv4 address";
  }
  return bits <= 32 ? null : "it has more than 32 bits";
}

/** Why the value is not a network rule, or null where it is one. */
export function whyInvalidRule(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "a rule is not an object";
  const rule = value as Readonly<Record<string, unknown>>;
  const kinds = ["domain", "cidr", "preset"].filter((kind) => kind in rule);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) return "a rule needs exactly one of domain, cidr and preset";
  const extra = Object.keys(rule).find((key) => key !== kind && (key !== "ports" || kind === "preset"));
  if (extra !== undefined) return `a ${kind} rule has no key "${extra}"`;
  const subject = rule[kind];
  if (typeof subject !== "string") return `${kind} is not a text`;
  if (kind === "preset" && !(networkPresets as readonly string[]).includes(subject)) {
    return `there is no preset "${subject}"; presets are ${networkPresets.join(", ")}`;
  }
  const why = kind === "domain" ? whyInvalidDomain(subject) : kind === "cidr" ? whyInvalidCidr(subject) : null;
  if (why !== null) return `"${subject}" is not a ${kind}: ${why}`;
  return whyInvalidPorts(rule.ports);
}

function whyInvalidPorts(ports: unknown): string | null {
  if (ports === undefined) return null;
  if (!Array.isArray(ports) || ports.length === 0) return "ports is not a list of at least one port";
  const isPort = (port: unknown) => Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535;
  return ports.every(isPort) ? null : "a port is not a whole number from 1 to 65535";
}

export interface NetworkChoice {
  readonly origin: string;
  readonly egress: EgressMode;
  readonly allow: readonly NetworkRule[];
}

const openness: Readonly<Record<EgressMode, number>> = { off: 0, allowlist: 1, on: 2 };

/** The one that opens less; of two that open alike, what both allow. */
export function stricterNetwork(a: NetworkChoice, b: NetworkChoice): NetworkChoice {
  if (openness[a.egress] !== openness[b.egress]) {
    const stricter = openness[a.egress] < openness[b.egress] ? a : b;
    return stricter.egress === "off" ? { ...stricter, allow: [] } : stricter;
  }
  const inB = new Set(b.allow.map(ruleKey));
  const allow = a.egress === "off" ? [] : a.allow.filter((rule) => inB.has(ruleKey(rule)));
  return { origin: a.origin, egress: a.egress, allow };
}

/** Equal for rules that say the same. */
export function ruleKey(rule: NetworkRule): string {
  if ("preset" in rule) return `preset ${rule.preset}`;
  const ports = rule.ports === undefined ? "any" : [...rule.ports].sort((x, y) => x - y).join();
  return "domain" in rule ? `domain ${rule.domain.toLowerCase()} ${ports}` : `cidr ${rule.cidr.toLowerCase()} ${ports}`;
}
