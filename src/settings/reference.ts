/** The tables of settings in docs/configuration.md, between two markers. */
import { numbers } from "./index.js";
import type { NumericDescription } from "./numeric-setting.js";
import { defaultText, rangeOf } from "./numeric-setting.js";
import type { OptionDescription } from "./option.js";
import { optionSettings } from "./options.js";

const BEGIN = "<!-- settings: written by npm run reference -->";
const END = "<!-- end of settings -->";

/** Throws where the page has no markers. */
export function withReference(page: string): string {
  const [start, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`the page has no ${BEGIN} … ${END}`);
  return `${page.slice(0, start)}${BEGIN}\n${numberTable()}\n${optionTable()}${page.slice(end)}`;
}

function numberTable(): string {
  const rows = numbers.map(({ path, setting }) => [
    setting.help,
    defaultText(setting, setting.quantity.format),
    rangeOf(setting).text,
    code(setting.flag && `--${setting.flag}`),
    code(setting.key),
    code(setting.key && (setting.jsonPath ?? `resources.${setting.key}`)),
    policyFileText(setting),
    code(path),
  ]);
  const head = [
    ["limit", "default", "range", "`run`", "`[resources]`, `[limits]`", "HTTP, MCP", "policy file", "`policy explain`"],
    Array.from({ length: 8 }, () => "---"),
  ];
  return tableOf([...head, ...rows]);
}

/** Settings that are no numbers. */
function optionTable(): string {
  const rows = Object.values<OptionDescription>(optionSettings).map(
    ({ flag, placeholder, choices, json, toml, policyFile, help }) => [
      help.replace(/\|/g, "\\|"),
      code(
        placeholder === undefined
          ? `--${flag}`
          : `--${flag} ${(choices?.join(",") ?? placeholder).replace(/\|/g, "\\|")}`,
      ),
      code(json),
      code(toml),
      code(policyFile),
    ],
  );
  const head = [
    ["setting", "`run`", "HTTP, MCP", "`agentkernel.toml`", "policy file"],
    Array.from({ length: 5 }, () => "---"),
  ];
  return tableOf([...head, ...rows]);
}

function tableOf(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

function policyFileText({ policyFile }: NumericDescription): string {
  return code(policyFile && `${policyFile.path}${policyFile.form === "text" ? ": TEXT" : ""}`);
}

function code(text: string | undefined): string {
  return text === undefined ? "" : `\`${text}\``;
}
