export interface WrittenVersion {
  readonly file: string;
  readonly version: string;
}

export const versionPlaces: readonly { readonly file: string; readonly pattern: RegExp }[];
export function writtenVersions(root: string): readonly WrittenVersion[];
export function writeVersion(root: string, version: string): void;
