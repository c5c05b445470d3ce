/** A module in the place of an image: what a run was made of, by name and digest. */
import { type ModuleFiles, nameOf } from "../backends/wasm/module-file.js";
import type { ResolvedRoot } from "./root-image.js";
import type { ModuleCall } from "./run-request.js";

export interface ModuleImage extends ResolvedRoot {
  /** Digest of the module, without the name of the method. */
  readonly moduleDigest: string;
}

export function moduleImage({ source }: ModuleCall, files: ModuleFiles): ModuleImage {
  const moduleDigest = files.digestOf(source);
  return {
    name: nameOf(source),
    why: source.kind === "language" ? "--lang" : "the module itself",
    // Nothing is around a module; what its worker stands in is the backend's own.
    source: { kind: "layers", layers: [] },
    defaults: null,
    digest: `sha256:${moduleDigest}`,
    moduleDigest,
    stored: null,
    notes: [],
    release: async () => {},
  };
}
