/** For which machine an image is made, and which of several fits. */

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string | null;
}

const architectures: ReadonlyMap<string, string> = new Map([
  ["x64", "amd64"],
  ["arm64", "arm64"],
  ["arm", "arm"],
  ["ia32", "386"],
  ["ppc64", "ppc64le"],
  ["s390x", "s390x"],
  ["riscv64", "riscv64"],
  ["loong64", "loong64"],
]);

/** This machine's. Sandboxes are Linux whatever the host is. */
export function hostPlatform(nodeArch: string = process.arch): Platform {
  return {
    os: "linux",
    architecture: architectures.get(nodeArch) ?? nodeArch,
    variant: nodeArch === "arm" ? "v7" : null,
  };
}

export function platformText({ os, architecture, variant }: Platform): string {
  return variant === null ? `${os}/${architecture}` : `${os}/${architecture}/${variant}`;
}

/** Whether an image for `offered` runs where `wanted` is asked for, and how well: lower is better, null is not at all. */
export function platformDistance(offered: Platform, wanted: Platform): number | null {
  if (offered.os !== wanted.os || offered.architecture !== wanted.architecture) return null;
  const own = variantLevel(wanted);
  const level = variantLevel(offered);
  // A newer variant than the one asked for has instructions that the machine may lack.
  return level > own ? null : own - level;
}

/** What an architecture without a named variant stands for. */
const impliedLevels: ReadonlyMap<string, number> = new Map([
  ["arm64", 8],
  ["arm", 7],
  ["amd64", 1],
]);

function variantLevel({ architecture, variant }: Platform): number {
  const level = /^v(\d{1,2})$/.exec(variant ?? "")?.[1];
  return level === undefined ? (impliedLevels.get(architecture) ?? 0) : Number(level);
}
