export interface BundledModule {
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

export declare const partNames: readonly string[];
export declare function assignParts(
  inputs: Readonly<Record<string, BundledModule>>,
  beginnings?: Readonly<Record<string, readonly string[]>>,
): Map<string, string>;
export declare function offeredBy(
  part: string,
  inputs: Readonly<Record<string, BundledModule>>,
  partOf: ReadonlyMap<string, string>,
): string[];
export declare function partText(offered: readonly string[], begins: string | null): string;
