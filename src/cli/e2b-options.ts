/** What `serve` and the configuration say of clients of E2B. */
import { AgentKernelError } from "../core/errors.js";
import { type E2bOptions, USUAL_DOMAIN } from "../e2b/options.js";
import type { ParsedOptions } from "./option-spec.js";

interface Configured {
  readonly e2b?: boolean;
  readonly e2b_domain?: string;
  readonly e2b_templates?: ReadonlyMap<string, string>;
}

const DOMAIN = /^(?=.{1,190}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const TEMPLATE = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,127})=(\S+)$/;

/** Null: they are not served. */
export function e2bOptions(parsed: ParsedOptions, configured: Configured): E2bOptions | null {
  const [domain] = parsed.values.get("e2b-domain") ?? [];
  const templates = parsed.values.get("e2b-template") ?? [];
  if (!parsed.flags.has("e2b") && configured.e2b !== true) {
    if (domain === undefined && templates.length === 0) return null;
    throw new AgentKernelError("invalid_argument", "--e2b-domain and --e2b-template go with --e2b", {
      hint: "give --e2b too",
    });
  }
  return {
    domain: domainOf(domain ?? configured.e2b_domain ?? USUAL_DOMAIN),
    templates: new Map([...(configured.e2b_templates ?? []), ...templates.map(templateOf)]),
  };
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/^\*?\./, "");
  if (DOMAIN.test(domain)) return domain;
  throw new AgentKernelError(
    "invalid_argument",
    `--e2b-domain: ${JSON.stringify(text.slice(0, 100))} is not a domain`,
    {
      hint: "for example localhost, or sandboxes.example.com",
    },
  );
}

function templateOf(text: string): readonly [string, string] {
  const [, name = "", image = ""] = TEMPLATE.exec(text) ?? [];
  if (name !== "") return [name, image];
  throw new AgentKernelError(
    "invalid_argument",
    `--e2b-template: ${JSON.stringify(text.slice(0, 100))} is not NAME=IMAGE`,
    {
      hint: "for example base=debian:13",
    },
  );
}
