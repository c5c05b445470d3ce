/** Words for a language where its image is wanted outright (`runtime = "python"`). */
import { DEFAULT_IMAGE, languageTable } from "./languages.js";

const languageOfRuntime = {
  node: "JavaScript/TypeScript",
  javascript: "JavaScript/TypeScript",
  typescript: "JavaScript/TypeScript",
  python: "Python",
  rust: "Rust",
  go: "Go",
  ruby: "Ruby",
  java: "Java",
  kotlin: "Kotlin",
  dotnet: "C#/.NET",
  csharp: "C#/.NET",
  c: "C/C++",
  cpp: "C/C++",
  php: "PHP",
  elixir: "Elixir",
  lua: "Lua",
  terraform: "HCL/Terraform",
  shell: "Shell",
} as const;

type RuntimeName = keyof typeof languageOfRuntime;

export const runtimeNames = Object.keys(languageOfRuntime) as readonly RuntimeName[];

export function imageOfRuntime(name: RuntimeName): string {
  return languageTable.find(({ language }) => language === languageOfRuntime[name])?.image ?? DEFAULT_IMAGE;
}
