export function vitePress(cache?: string): string;
export function entryName(): string;
