/** Rules of the network as both kinds of file write them. */
import type { NetworkRule, SecretBinding } from "../core/policy.js";
import { networkPresets, whyInvalidCidr, whyInvalidDomain } from "../policy/network-rules.js";
import { whyInvalidHeader } from "../policy/secrets.js";
import { choice, fail, list, number, type Shape, text, turned } from "./shapes.js";
import { type TableValue, table } from "./table-shape.js";

const domain = text({
  expected: "a domain such as example.com or *.example.com",
  why: whyInvalidDomain,
  schema: { pattern: "^(\\*\\.)?[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$" },
});

const ruleEntries = {
  domain: { shape: domain, help: "A name, or *.name for its subdomains." },
  cidr: {
    shape: text({ expected: "a range such as 10.1.0.0/16", why: whyInvalidCidr }),
    help: "A range of addresses; the only thing that opens one that is not public.",
  },
  preset: { shape: choice(networkPresets), help: "A list of domains that agentkernel keeps." },
  ports: {
    shape: list(number({ min: 1, max: 65_535, whole: true }), { minItems: 1 }),
    help: "Only these ports; without it, all.",
  },
};

/** `{ domain | cidr | preset, ports? }` */
export const networkRule: Shape<NetworkRule> = {
  ...turned(table(ruleEntries), toRule),
  schema: {
    ...table(ruleEntries).schema,
    oneOf: [{ required: ["domain"] }, { required: ["cidr"] }, { required: ["preset"] }],
  },
};

function toRule(value: TableValue<typeof ruleEntries>): { value: NetworkRule } | string {
  const { domain: name, cidr, preset, ports } = value;
  if ([name, cidr, preset].filter((one) => one !== undefined).length !== 1) {
    return "a rule needs exactly one of domain, cidr and preset";
  }
  if (preset !== undefined) return ports === undefined ? { value: { preset } } : "a preset takes no ports";
  const onPorts = ports === undefined ? {} : { ports };
  if (name !== undefined) return { value: { domain: name.toLowerCase(), ...onPorts } };
  return { value: { cidr: cidr ?? "", ...onPorts } };
}

/** A domain, or the name of a preset: no preset has a dot in its name, and every domain has. */
export const domainOrPreset: Shape<NetworkRule> = {
  schema: { anyOf: [domain.schema, { enum: networkPresets }] },
  read: (node, path, reading) => {
    const written = text({
      expected: "a domain such as *.example.com, or a preset",
      near: networkPresets,
      why: (word) => (isPreset(word) ? null : whyInvalidDomain(word)),
    }).read(node, path, reading);
    if (written === undefined) return undefined;
    return isPreset(written) ? { preset: written } : { domain: written.toLowerCase() };
  },
};

function isPreset(word: string): boolean {
  return (networkPresets as readonly string[]).includes(word);
}

const secretEntries = {
  name: {
    shape: text({
      expected: "the name of a variable",
      why: (word) =>
        /^[A-Za-z_][A-Za-z0-9_]*$/.test(word) ? null : "it has other characters than letters, digits and _",
    }),
    help: "The variable that holds the secret on the host, and its placeholder inside.",
    required: true,
  },
  host: {
    shape: text({
      expected: "one host name such as api.example.com",
      why: (word) => (word.startsWith("*") ? "a secret goes to one host only" : whyInvalidDomain(word)),
    }),
    help: "The one host that gets it.",
    required: true,
  },
  header: {
    shape: text({ expected: "the name of a header", why: whyInvalidHeader }),
    help: "The header in which the placeholder is replaced (authorization).",
  },
};

const secretTable = table(secretEntries);

export const secretBinding: Shape<SecretBinding> = {
  schema: secretTable.schema,
  read: (node, path, reading) => {
    const value = secretTable.read(node, path, reading);
    if (value?.name === undefined || value.host === undefined) return undefined;
    const header = (value.header ?? "authorization").toLowerCase();
    return { name: value.name, host: value.host.toLowerCase(), header };
  },
};

export const egress: Shape<"off" | "on" | "allowlist"> = {
  schema: { enum: [false, true, "allowlist"] },
  read: (node, path, reading) => {
    if (node.kind === "scalar" && node.value === false) return "off";
    if (node.kind === "scalar" && node.value === true) return "on";
    if (node.kind === "scalar" && node.value === "allowlist") return "allowlist";
    const shown = node.kind === "scalar" ? ` ${JSON.stringify(node.value)}` : "";
    return fail(reading, node, `${path} cannot be${shown}: it is false, true or allowlist`, "write it without quotes");
  },
};
