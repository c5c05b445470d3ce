/** Settings of every verb of the image store: its place, its registries, its size. */
import { imageStoreFolder } from "../../core/state-folders.js";
import type { Surroundings } from "../../core/surroundings.js";
import { DEFAULT_CEILING_BYTES, ImageStore, registryOptions, type TagOptions } from "../../images/index.js";
import { type Configuration, readConfiguration } from "../../request/configuration.js";
import { mirrorWords } from "../../request/image-settings.js";
import type { ParsedOptions } from "../option-spec.js";
import { filesOf } from "../run-spec.js";

interface ImageVerbSettings {
  readonly registry: TagOptions;
  readonly ceilingBytes: number;
}

export function openImageStore({ env, homeDir }: Surroundings): Promise<ImageStore> {
  return ImageStore.open(imageStoreFolder(env, homeDir));
}

export async function imageVerbSettings(parsed: ParsedOptions, surroundings: Surroundings): Promise<ImageVerbSettings> {
  const { images } = await readConfiguration(filesOf(parsed), surroundings);
  const { env, homeDir } = surroundings;
  const mirrors = [...(parsed.values.get("mirror") ?? []), ...mirrorWords(env, images)];
  const privateRedirects = parsed.flags.has("allow-private-redirects");
  return {
    registry: registryOptions({ mirrors, env, homeDir, privateRedirects }),
    ceilingBytes: ceilingOf(images),
  };
}

function ceilingOf({ disk_ceiling_mb: mb }: Configuration["images"]): number {
  return mb === undefined ? DEFAULT_CEILING_BYTES : mb * 2 ** 20;
}
