/** What a tag points to right now, without bringing any image. */
import { isAgentKernelError } from "../core/errors.js";
import type { Digest } from "./digest.js";
import { parseManifest } from "./manifest.js";
import type { ImageReference } from "./reference.js";
import { type ClientOptions, RegistryClient } from "./registry/client.js";
import { endpointsOf, type Mirrors } from "./registry/endpoint.js";

export interface TagOptions extends ClientOptions {
  readonly mirrors?: Mirrors;
  /** Registries themselves are not asked. */
  readonly mirrorsOnly?: boolean;
  /** Of registries that are no mirrors, only those on public addresses are asked. */
  readonly publicOnly?: boolean;
}

/** The digest of the index where there is one, so that it holds for every platform. */
export async function tagDigest(reference: ImageReference, options: TagOptions = {}): Promise<Digest> {
  const endpoints = endpointsOf(reference.registry, options.mirrors, options.mirrorsOnly, options.publicOnly);
  for (const [position, endpoint] of endpoints.entries()) {
    const client = new RegistryClient(endpoint, reference.repository, options);
    try {
      const { bytes, mediaType, digest } = await client.getManifest(reference.tag ?? "latest");
      // What no pull could use is not worth pointing to.
      parseManifest(bytes, mediaType);
      return digest;
    } catch (error) {
      options.signal?.throwIfAborted();
      if (position === endpoints.length - 1 || !isAgentKernelError(error)) throw error;
    } finally {
      client.close();
    }
  }
  throw new Error("a registry has at least one endpoint");
}
