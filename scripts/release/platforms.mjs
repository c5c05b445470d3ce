// The machines that there are native programs for, and those programs.
export const nativeNames = [
  "ak-changes",
  "ak-client",
  "ak-copy",
  "ak-entry",
  "ak-guest",
  "ak-init",
  "ak-jail",
  "ak-pack",
  "ak-probe",
  "ak-unpack",
  "ak-vmm",
  "ak-wasm",
];

/** Names as npm has them. macOS has no native part yet: there the launcher starts Node. */
export const platforms = ["linux-x64", "linux-arm64"];

export const thisPlatform = `${process.platform}-${process.arch}`;

export function packageNameOf(platform) {
  return `@agentkernel/${platform}`;
}
