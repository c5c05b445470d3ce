/** Languages whose engines are WebAssembly modules of ours. */
export const languages = ["js"] as const;
export type Language = (typeof languages)[number];
