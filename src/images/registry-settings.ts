/** How registries are asked, from the words of users: mirrors, logins, proxies. */
import { dockerConfigCredentials, dockerConfigPath } from "./registry/docker-config.js";
import { parseMirrors } from "./registry/mirrors.js";
import { proxyFromEnvironment } from "./registry/proxy.js";
import type { TagOptions } from "./tag-digest.js";

export interface RegistrySettings {
  /** As users write them, in the order in which they are asked. */
  readonly mirrors: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  readonly privateRedirects?: boolean;
}

/** Among the mirrors: registries themselves are not asked. */
const ONLY = "only";

export function registryOptions({ mirrors, env, homeDir, privateRedirects = false }: RegistrySettings): TagOptions {
  return {
    mirrors: parseMirrors(mirrors.filter((word) => word !== ONLY)),
    mirrorsOnly: mirrors.includes(ONLY),
    credentials: dockerConfigCredentials(dockerConfigPath(env, homeDir), env),
    proxy: proxyFromEnvironment(env),
    privateRedirects,
  };
}
