/** Where our own native programs are: beside the bundle, or in the checkout's build. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentKernelError } from "./errors.js";

/** The bundle lies in dist/ or dist/chunks/, a source file two levels below the checkout. Nowhere else is looked. */
const PLACES = ["native", "../native", "../../dist/native"];

type NativeName =
  | "ak-client"
  | "ak-guest"
  | "ak-jail"
  | "ak-changes"
  | "ak-copy"
  | "ak-entry"
  | "ak-probe"
  | "ak-unpack"
  | "ak-pack";

const known = new Map<NativeName, string>();

export function nativeBinary(name: NativeName): string {
  const path = known.get(name) ?? findBinary(name);
  known.set(name, path);
  return path;
}

/** Where the guest's programs for another machine's Linux are; null where this package has none. */
export function foreignGuestFolder(platform: "linux-arm64"): string | null {
  const here = dirname(fileURLToPath(import.meta.url));
  return PLACES.map((place) => join(here, place, platform)).find((candidate) => existsSync(candidate)) ?? null;
}

function findBinary(name: NativeName): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const found = PLACES.map((place) => join(here, place, name)).find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new AgentKernelError("backend_unavailable", `${name} is not built`, {
    hint: "in a checkout, npm run build makes it; a package that lacks it is broken: install it again",
  });
}
