/**
 * How an image is fetched that somebody else than the user named: a project's file, a model, a caller with a key. The
 * user's logins and private network are not theirs, and a name that is asked for tells its registry something.
 */
import { AgentKernelError } from "../core/errors.js";
import { parseReference } from "../images/reference.js";
import { mayWiden } from "../policy/authority.js";
import { type ImageRequest, type ImageSettings, isPlace } from "../runtime/root-image.js";
import type { Configuration } from "./configuration.js";

/** Anybody reaches these, so asking them tells nothing about the user's network. */
const publicRegistries: ReadonlySet<string> = new Set([
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

type Restrictions = Partial<Pick<ImageSettings, "publicOnly" | "anonymous" | "pull">>;
type Known = Pick<Configuration, "image" | "images" | "fetchesForOthers">;

/** A project's file. Registries that are not well known are asked only at public addresses and without the user's proxy. */
export function projectImageSettings(request: ImageRequest, { image: configured, images, fetchesForOthers }: Known) {
  if (configured === null || request.why !== configured.origin || request.name === "host") return {};
  if (mayWiden({ origin: configured.by, name: configured.origin })) return {};
  const { registry } = parseReference(request.name);
  return { ...(restrictionsAt(registry, images) ?? { publicOnly: true }), ...pullFor(fetchesForOthers) };
}

/** A model, or a caller with a key: `named` is what they asked for, if anything. Other registries are refused. */
export function callersImageSettings(request: ImageRequest, named: string | undefined, known: Known): Restrictions {
  const { image: configured, images, fetchesForOthers } = known;
  const isConfigured = request.name === configured?.reference && mayWiden({ origin: configured.by, name: "" });
  if (request.name === "host" || isConfigured) return {};
  const pull = pullFor(fetchesForOthers);
  if (named === undefined || isPlace(named)) return pull;
  const { registry } = parseReference(named);
  const found = restrictionsAt(registry, images);
  if (found !== null) return { ...found, ...pull };
  throw new AgentKernelError(
    "policy_denied",
    `image: ${registry} is not one of the registries that a caller may name`,
    {
      hint: `use an image of ${[...publicRegistries].slice(0, 3).join(", ")} or another public registry; the user adds one with images.registries = ["${registry}"] in agentkernel/config.toml`,
      details: { field: "image" },
    },
  );
}

/** Null: neither public nor on the user's list. On the list it is asked as the user would ask it. */
function restrictionsAt(registry: string, { registries = [] }: Known["images"]): Restrictions | null {
  if (registries.includes(registry)) return {};
  return publicRegistries.has(registry) ? { anonymous: true } : null;
}

/** What nobody else may reach, is not reached for them either. */
function pullFor(fetches: boolean): Restrictions {
  return fetches ? {} : { pull: "never" };
}
