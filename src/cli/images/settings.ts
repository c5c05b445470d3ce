/** What every verb of the image store goes by: where the store is, and how registries are asked. */
import { imageStoreFolder } from "../../core/state-folders.js";
import {
  DEFAULT_CEILING_BYTES,
  dockerConfigCredentials,
  dockerConfigPath,
  ImageStore,
  mirrorWords,
  parseMirrors,
  proxyFromEnvironment,
  type TagOptions,
} from "../../images/index.js";
import type { ParsedOptions } from "../option-spec.js";
import type { Surroundings } from "../surroundings.js";

export interface ImageSettings {
  /** As users write mirrors; asked after those of the command line and of the environment. */
  readonly mirrors?: readonly string[];
  readonly ceilingBytes?: number;
}

export function openImageStore({ env, homeDir }: Surroundings): Promise<ImageStore> {
  return ImageStore.open(imageStoreFolder(env, homeDir));
}

export function registryOptions(
  parsed: ParsedOptions,
  { env, homeDir }: Surroundings,
  settings: ImageSettings = {},
): TagOptions {
  const mirrors = [
    ...(parsed.values.get("mirror") ?? []),
    ...mirrorWords(env.AGENTKERNEL_IMAGE_MIRRORS),
    ...(settings.mirrors ?? []),
  ];
  return {
    mirrors: parseMirrors(mirrors),
    credentials: dockerConfigCredentials(dockerConfigPath(env, homeDir), env),
    proxy: proxyFromEnvironment(env),
    privateRedirects: parsed.flags.has("allow-private-redirects"),
  };
}

export function ceilingBytes(settings: ImageSettings = {}): number {
  return settings.ceilingBytes ?? DEFAULT_CEILING_BYTES;
}
