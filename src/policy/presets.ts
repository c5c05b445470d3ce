/**
 * What each preset of domains stands for. `mcp-servers` is not here: it is the hosts of one project's MCP
 * configuration, and whoever reads that writes them out as domain rules.
 */
import { AgentKernelError } from "../core/errors.js";
import type { NetworkRule } from "../core/policy.js";

/** A name and all below it. */
const zone = (domain: string): readonly string[] => [domain, `*.${domain}`];

export const presetDomains: Readonly<Record<string, readonly string[]>> = {
  "package-registries": [
    // npm and yarn
    ...["registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com"],
    // Python
    ...["pypi.org", "files.pythonhosted.org"],
    // Cargo
    ...["crates.io", "index.crates.io", "static.crates.io"],
    // Go
    ...["proxy.golang.org", "sum.golang.org"],
    // Ruby
    ...["rubygems.org", "*.rubygems.org"],
    // Maven and Gradle
    ...["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org"],
    // Debian, Ubuntu, Alpine
    ...["deb.debian.org", "security.debian.org", "ftp.debian.org"],
    ...["archive.ubuntu.com", "*.archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"],
    "dl-cdn.alpinelinux.org",
  ],
  anthropic: zone("anthropic.com"),
  openai: zone("openai.com"),
  google: [...zone("googleapis.com"), "accounts.google.com"],
  "cloud-apis": [
    ...zone("amazonaws.com"),
    ...zone("amazonaws.com.cn"),
    ...zone("api.aws"),
    ...zone("googleapis.com"),
    ...zone("azure.com"),
    ...zone("azure.net"),
    ...zone("windows.net"),
    ...zone("microsoftonline.com"),
    ...zone("graph.microsoft.com"),
    ...zone("aliyuncs.com"),
    ...zone("oraclecloud.com"),
    ...zone("cloud.ibm.com"),
    ...zone("tencentcloudapi.com"),
    "api.digitalocean.com",
    "api.hetzner.cloud",
    "api.linode.com",
    "api.vultr.com",
    "api.scaleway.com",
    "api.cloudflare.com",
    "api.fly.io",
    "api.heroku.com",
    "api.vercel.com",
  ],
};

/** The rules with each preset replaced by the domains that it stands for. */
export function expandPresets(rules: readonly NetworkRule[]): readonly NetworkRule[] {
  return rules.flatMap<NetworkRule>((rule) => {
    if (!("preset" in rule)) return [rule];
    const domains = Object.hasOwn(presetDomains, rule.preset) ? presetDomains[rule.preset] : undefined;
    if (domains === undefined) {
      throw new AgentKernelError("invalid_policy", `the preset "${rule.preset}" stands for no domains here`, {
        hint: "mcp-servers must be written out as the domains of the project's MCP configuration",
        details: { preset: rule.preset },
      });
    }
    return domains.map((domain) => ({ domain }));
  });
}
