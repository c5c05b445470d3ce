/** How registries are asked, from the words of users: mirrors, logins, proxies. */
import { noCredentials } from "./registry/credentials.js";
import { dockerConfigCredentials, dockerConfigPath } from "./registry/docker-config.js";
import { parseMirrors } from "./registry/mirrors.js";
import { noProxy, proxyFromEnvironment } from "./registry/proxy.js";
import type { TagOptions } from "./tag-digest.js";

interface RegistrySettings {
  /** As users write them, in the order in which they are asked. */
  readonly mirrors: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  readonly privateRedirects?: boolean;
  /** Somebody else than the user asks: what only the user reaches, or has a login for, is not for them. */
  readonly publicOnly?: boolean | undefined;
  /** Without the user's logins. */
  readonly anonymous?: boolean | undefined;
}

/** Among the mirrors: registries themselves are not asked. */
const ONLY = "only";

export function registryOptions(settings: RegistrySettings): TagOptions {
  const { mirrors, env, homeDir, privateRedirects = false, publicOnly = false, anonymous = false } = settings;
  return {
    mirrors: parseMirrors(mirrors.filter((word) => word !== ONLY)),
    mirrorsOnly: mirrors.includes(ONLY),
    publicOnly,
    credentials: publicOnly || anonymous ? noCredentials : dockerConfigCredentials(dockerConfigPath(env, homeDir), env),
    // What a proxy dials for us nobody could check.
    proxy: publicOnly ? noProxy : proxyFromEnvironment(env),
    privateRedirects: privateRedirects && !publicOnly,
  };
}
