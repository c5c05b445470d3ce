export function npmTool(description: string, cache?: string): string;
export function entryName(description: string): string;
