/** Mirrors as users write them, on the command line, in the environment and in files. Pure. */
import { DEFAULT_REGISTRY } from "../reference.js";
import { endpointsOf, type Mirrors } from "./endpoint.js";

/** `host`, `https://host:port`: of Docker's registry; `registry=host`: of another. Earlier ones are asked first. */
export function parseMirrors(texts: readonly string[]): Mirrors {
  const mirrors: Record<string, string[]> = {};
  for (const text of texts) {
    const equals = text.indexOf("=");
    const registry = equals < 0 ? DEFAULT_REGISTRY : text.slice(0, equals).toLowerCase();
    const address = text.slice(equals + 1);
    // Refuses what is no mirror now, and not when it is first needed.
    endpointsOf(DEFAULT_REGISTRY, { [DEFAULT_REGISTRY]: [address] });
    mirrors[registry] = [...(mirrors[registry] ?? []), address];
  }
  return mirrors;
}
