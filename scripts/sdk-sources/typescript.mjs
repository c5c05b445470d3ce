import { camel, generated } from "./model.mjs";

export const typescript = {
  "sdk/typescript/src/error-codes.ts": errorCodes,
  "sdk/typescript/src/records.ts": records,
  "sdk/typescript/conformance/option-keys.ts": optionKeys,
};

/** What the runner of scenarios knows of options; the compiler holds it to the records. */
function optionKeys({ options }) {
  const tables = options.map(({ name, fields }) => {
    const keys = fields.map(({ wire }) => `    ${camel(wire)}: true,\n`).join("");
    return `  ${name}: {\n${keys}  },\n`;
  });
  return `/** ${generated} */
export const optionKeys = {
${tables.join("")}} as const;
`;
}

function errorCodes({ errors }) {
  const rows = errors.map(
    ({ code, http, retryable, summary }) =>
      `  /** ${summary} */\n  ${code}: { http: ${http}, retryable: ${retryable} },\n`,
  );
  return `/** ${generated} */

/** Every code that an error of the server can have; \`retryable\`: the same call may work later. */
export const errorTable = {
${rows.join("")}} as const;

export type ErrorCode = keyof typeof errorTable;
`;
}

function records({ options, results }) {
  const text = [...options.map((one) => record(one, "")), ...results.map((one) => record(one, "readonly "))].join("\n");
  return `/** ${generated} */
import type { Network } from "./network.js";

${text}`;
}

function record({ name, about, fields }, prefix) {
  const lines = fields.map(
    ({ wire, about: help, type, isOptional, isNullable }) =>
      `  /** ${help} */\n  ${prefix}${camel(wire)}${isOptional ? "?" : ""}: ${typeText(type, prefix)}${isNullable ? " | null" : ""}${isOptional ? " | undefined" : ""};\n`,
  );
  return `${about === null ? "" : `/** ${about} */\n`}export interface ${name} {\n${lines.join("")}}\n`;
}

function typeText(type, prefix) {
  switch (type.kind) {
    case "text":
      return "string";
    case "whole":
    case "number":
      return "number";
    case "flag":
      return "boolean";
    case "network":
      return "Network";
    case "stdin":
      return "string | Uint8Array";
    case "choice":
      return type.values.map((value) => JSON.stringify(value)).join(" | ");
    case "record":
      return type.name;
    case "list":
      return `readonly ${typeText(type.of, prefix)}[]`;
    case "map":
      return `Readonly<Record<string, ${typeText(type.of, prefix)}>>`;
    default:
      throw new Error(type.kind);
  }
}
