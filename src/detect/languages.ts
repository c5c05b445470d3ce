/** Which files and commands speak for which language, and its image. Order matters: the first match wins. */

export interface LanguageRow {
  readonly language: string;
  /** Names in the project's top folder; `*.ext` stands for any visible name that ends so. */
  readonly files: readonly string[];
  /** Base names of programs. */
  readonly commands: readonly string[];
  readonly image: string;
}

export const SHELL = "Shell";
export const DEFAULT_IMAGE = "alpine:3.20";

export const languageTable: readonly LanguageRow[] = [
  {
    language: "JavaScript/TypeScript",
    files: ["package.json", "yarn.lock", "pnpm-lock.yaml"],
    commands: ["node", "npm", "npx", "yarn", "pnpm", "bun"],
    image: "node:22-alpine",
  },
  {
    language: "Python",
    files: ["pyproject.toml", "requirements.txt", "Pipfile"],
    commands: ["python", "python3", "pip", "poetry", "uv", "pytest"],
    image: "python:3.12-alpine",
  },
  { language: "Rust", files: ["Cargo.toml"], commands: ["cargo", "rustc"], image: "rust:1.85-alpine" },
  { language: "Go", files: ["go.mod"], commands: ["go", "gofmt"], image: "golang:1.23-alpine" },
  {
    language: "Ruby",
    files: ["Gemfile"],
    commands: ["ruby", "bundle", "rails", "rake"],
    image: "ruby:3.3-alpine",
  },
  {
    language: "Java",
    files: ["pom.xml", "build.gradle"],
    commands: ["java", "javac", "mvn", "gradle"],
    image: "eclipse-temurin:21-alpine",
  },
  { language: "Kotlin", files: ["*.kt"], commands: [], image: "eclipse-temurin:21-alpine" },
  {
    language: "C#/.NET",
    files: ["*.csproj", "*.sln"],
    commands: ["dotnet"],
    image: "mcr.microsoft.com/dotnet/sdk:8.0",
  },
  {
    language: "C/C++",
    files: ["Makefile", "CMakeLists.txt"],
    commands: ["gcc", "g++", "make", "cmake"],
    image: "gcc:14-bookworm",
  },
  { language: "PHP", files: ["composer.json"], commands: ["php", "composer"], image: "php:8.3-alpine" },
  { language: "Elixir", files: ["mix.exs"], commands: ["elixir", "mix"], image: "elixir:1.16-alpine" },
  { language: "Lua", files: ["*.lua"], commands: ["lua", "luajit"], image: "nickblah/lua:5.4-alpine" },
  {
    language: "HCL/Terraform",
    files: ["*.tf", "*.tfvars"],
    commands: ["terraform"],
    image: "hashicorp/terraform:1.10",
  },
  { language: SHELL, files: ["*.sh"], commands: ["bash", "sh", "zsh"], image: DEFAULT_IMAGE },
];

const rowOfCommand: ReadonlyMap<string, LanguageRow> = new Map(
  languageTable.flatMap((row) => row.commands.map((command) => [command, row] as const)),
);

export interface CommandMatch {
  readonly row: LanguageRow;
  /** The table's own word, so that it is safe to print. */
  readonly command: string;
}

/** By base name; a version at its end (`python3.11`, `gcc-13`, `pip3`) does not hide the program. */
export function matchCommand(word: string): CommandMatch | null {
  const name = word.slice(word.lastIndexOf("/") + 1);
  for (const command of [name, name.replace(/-?\d{1,4}(?:\.\d{1,4}){0,3}$/, "")]) {
    const row = rowOfCommand.get(command);
    if (row !== undefined) return { row, command };
  }
  return null;
}
