/** What a run is made of besides its policy: the backend, and which image is wanted. Nothing is fetched here. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type BackendName, backendNames } from "../core/backend.js";
import { anyBackend, type BackendRequest } from "../core/backend-request.js";
import { AgentKernelError } from "../core/errors.js";
import { readRegularFile } from "../core/regular-file.js";
import type { Surroundings } from "../core/surroundings.js";
import { detectImage } from "../detect/index.js";
import { nearest } from "../policy/nearest.js";
import { type ImageRequest, isPlace } from "../runtime/root-image.js";
import type { Configuration } from "./configuration.js";
import type { RunSpec } from "./run-spec.js";

const aliases: ReadonlyMap<string, BackendName> = new Map([["hyperlight", "wasm"]]);

/** Says outright which backend is meant, for all runs of a shell or a machine. */
export const BACKEND_VARIABLE = "AGENTKERNEL_BACKEND";

/** Only the name is checked; whether it works here is found out when it is needed. */
export function backendRequest(name: string | undefined, origin: string | undefined): BackendRequest {
  if (name === undefined) return anyBackend;
  const known = ["auto" as const, ...backendNames].find((one) => one === name) ?? aliases.get(name);
  if (known !== undefined) return { name: known, origin: origin ?? "default" };
  const near = nearest(name, ["auto", ...backendNames]);
  throw new AgentKernelError("invalid_argument", `${origin}: there is no backend "${name}"`, {
    hint: near === null ? "use linux, or leave it out" : `did you mean ${near}?`,
  });
}

/** Says outright which image is meant, for all runs of a shell or a machine. */
export const IMAGE_VARIABLE = "AGENTKERNEL_IMAGE";

/** What is said outright wins; otherwise the command and the project speak. */
export function chooseImage(
  { sandbox, exec: { argv }, nameOf }: RunSpec,
  configured: Configuration["image"],
  { cwd: projectDir, env }: Surroundings,
): ImageRequest {
  if (sandbox.image !== undefined) return { name: sandbox.image, why: nameOf("image"), named: true };
  const { [IMAGE_VARIABLE]: variable = "" } = env;
  if (variable !== "") return { name: variable, why: IMAGE_VARIABLE, named: true };
  if (configured !== null) return fromFile(configured);
  const byCommand = detectImage({ argv, projectFiles: [] });
  if (byCommand.source === "command") return { name: byCommand.image, why: byCommand.why, named: false };
  const { image, why } = detectImage({ argv, projectFiles: namesIn(projectDir), ...procfileOf(projectDir) });
  return { name: image, why, named: false };
}

/** A file comes with a project: it must not choose what of this machine a sandbox sees. */
function fromFile({ reference, origin }: NonNullable<Configuration["image"]>): ImageRequest {
  if (!isPlace(reference)) return { name: reference, why: origin, named: true };
  throw new AgentKernelError(
    "invalid_policy",
    `${origin}: an image in a file is a reference, not a place of this machine`,
    {
      hint: (wording) => `import it under a name (agentkernel images import), or use ${wording.name("image")}`,
    },
  );
}

/** A folder that cannot be listed says nothing about its language; that it cannot be shown is said elsewhere. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const MAX_PROCFILE_BYTES = 64 << 10;

function procfileOf(folder: string): { readonly procfile?: string } {
  try {
    return { procfile: readRegularFile(join(folder, "Procfile"), MAX_PROCFILE_BYTES).toString("utf8") };
  } catch {
    return {};
  }
}
