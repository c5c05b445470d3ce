/** Where our own native programs are: beside the bundle, in the checkout's build, or in the package for this machine. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentKernelError } from "./errors.js";

/** The bundle lies in dist/ or dist/chunks/, a source file two levels below the checkout. */
const PLACES = ["native", "../native", "../../dist/native"];

export const nativeNames = [
  "ak-client",
  "ak-guest",
  "ak-jail",
  "ak-changes",
  "ak-copy",
  "ak-entry",
  "ak-init",
  "ak-probe",
  "ak-unpack",
  "ak-pack",
  "ak-wasm",
  "ak-vmm",
] as const;
type NativeName = (typeof nativeNames)[number];

const known = new Map<NativeName, string>();

export function nativeBinary(name: NativeName): string {
  const path = known.get(name) ?? findBinary(name);
  known.set(name, path);
  return path;
}

export function hasNativeBinary(name: NativeName): boolean {
  return placesOf(name).some((candidate) => existsSync(candidate));
}

/** Where the guest's programs for another machine's Linux are; null where this package has none. */
export function foreignGuestFolder(platform: "linux-arm64"): string | null {
  const here = dirname(fileURLToPath(import.meta.url));
  return PLACES.map((place) => join(here, place, platform)).find((candidate) => existsSync(candidate)) ?? null;
}

function placesOf(name: NativeName): readonly string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  return [...PLACES.map((place) => join(here, place)), ...packageFolders(here)].map((folder) => join(folder, name));
}

function findBinary(name: NativeName): string {
  const found = placesOf(name).find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new AgentKernelError("backend_unavailable", `${name} is not here for ${process.platform} on ${process.arch}`, {
    hint:
      process.platform === "linux"
        ? "npm install -g --include=optional agentkernel installs it; in a checkout, npm run build makes it"
        : "this version has sandboxes on Linux only",
  });
}

/**
 * npm puts the package for this machine into the node_modules of ours, or into one that ours lies in. Only folders of
 * that name are looked at: others on the way up may be anybody's.
 */
export function packageFolders(
  here: string,
  { platform, arch }: { readonly platform: string; readonly arch: string } = process,
): readonly string[] {
  const name = join("@agentkernel", `${platform}-${arch}`, "bin");
  const found: string[] = [];
  for (let at = here; dirname(at) !== at; at = dirname(at)) {
    if (basename(at) === "node_modules") found.push(join(at, name));
    else if (basename(dirname(at)) === "node_modules") found.push(join(at, "node_modules", name));
  }
  return found;
}
