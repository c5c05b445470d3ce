export declare function holdsKey(path: string): boolean;
