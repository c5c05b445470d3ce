/** docs/e2b-methods.md: which methods of which SDK version a scenario has called with success. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../repository.js";
import { type SdkLanguage, sdkVersions } from "./sdks.js";

const path = join(repository, "docs", "e2b-methods.md");

const titles: Readonly<Record<SdkLanguage, string>> = {
  javascript: "JavaScript: `e2b` of npm",
  python: "Python: `e2b` of PyPI, `Sandbox` and `AsyncSandbox`",
};

/** Method → version → whether it is there; a method that is not in a version has no entry. */
export type Tried = ReadonlyMap<string, ReadonlySet<string>>;

function methodsPage(tried: Readonly<Record<SdkLanguage, Tried>>): string {
  const languages = Object.keys(titles) as readonly SdkLanguage[];
  const intro =
    "This page is made by a test, which calls every public method of these versions against `serve --e2b`:\n```sh\nnpm run test:clients\n```\nA dash: the version has no such method.";
  return `# Methods of E2B's SDKs\n\n${intro}\n${languages.map((one) => section(one, tried[one])).join("")}`;
}

function section(language: SdkLanguage, tried: Tried): string {
  const versions: readonly string[] = sdkVersions[language];
  const rows = [...tried.keys()].sort().map((method) => {
    const cells = versions.map((version) => (tried.get(method)?.has(version) ? "yes" : "–"));
    return `| \`${method}\` | ${cells.join(" | ")} |\n`;
  });
  const head = `| method | ${versions.join(" | ")} |\n|${" --- |".repeat(versions.length + 1)}\n`;
  return `\n## ${titles[language]}\n${head}${rows.join("")}`;
}

/** What the page says of one version. */
export function methodsOnPage(language: SdkLanguage, version: string): readonly string[] {
  const [, rest = ""] = readFileSync(path, "utf8").split(`## ${titles[language]}\n`);
  const [table = ""] = rest.split("\n## ");
  const column = sdkVersions[language].findIndex((one) => one === version) + 2;
  const rows = [...table.matchAll(/^\| `[^`]+` \|.*$/gm)].map(([row]) => row.split("|").map((cell) => cell.trim()));
  return rows.filter((row) => row[column] === "yes").map((row) => (row[1] ?? "").replaceAll("`", ""));
}

export function writeMethodsPage(tried: Readonly<Record<SdkLanguage, Tried>>): void {
  writeFileSync(path, methodsPage(tried));
}
