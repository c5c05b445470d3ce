/** How an image is fetched that a project's own file names: the user's logins and private network are not the project's. */
import { parseReference } from "../images/reference.js";
import { mayWiden } from "../policy/authority.js";
import type { ImageSettings, ImageWish } from "../runtime/root-image.js";
import type { Configuration } from "./configuration.js";

/** Anybody reaches these, so asking them tells nothing about the user's network. */
const publicRegistries = new Set([
  "docker.io",
  "gcr.io",
  "ghcr.io",
  "lscr.io",
  "mcr.microsoft.com",
  "public.ecr.aws",
  "quay.io",
  "registry.gitlab.com",
  "registry.k8s.io",
]);

type Restrictions = Pick<ImageSettings, "publicOnly" | "anonymous">;

/** Other registries are asked only at public addresses and without the user's proxy, which may reach private ones. */
export function projectImageSettings(wish: ImageWish, configured: Configuration["image"]): Restrictions {
  if (configured === null || wish.why !== configured.origin) return {};
  if (mayWiden({ origin: configured.by, name: configured.origin }) || wish.name === "host") return {};
  return publicRegistries.has(parseReference(wish.name).registry) ? { anonymous: true } : { publicOnly: true };
}
