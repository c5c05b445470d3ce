/** A server's tools as a module of Python: functions with named arguments and what is known of their types. */
import type { Catalog, ToolSchema } from "../servers/index.js";
import { MOST_TOOL_CHARS, oneLine } from "./documentation.js";
import { quoted, snakeName, uniqueNames } from "./names.js";
import { isFields } from "./schema-type.js";

export interface PythonModule {
  readonly declarations: ReadonlyMap<string, string>;
  readonly source: string;
}

export function pythonModule({ server, tools }: Catalog): PythonModule {
  const names = uniqueNames(
    tools.map(({ name }) => name),
    snakeName,
  );
  const parts = tools.map((tool) => ({ tool, head: headOf(tool, names.get(tool.name) ?? tool.name) }));
  const bodies = parts.map(({ tool, head }) => {
    const { known } = parametersOf(tool);
    const given = known.map(([key, name]) => `${quoted(key)}: ${name}`).join(", ");
    return `${head}    return _call(${quoted(server)}, ${quoted(tool.name)}, {${given}}, more)\n`;
  });
  return {
    declarations: new Map(parts.map(({ tool, head }) => [tool.name, `${head}    ...\n`])),
    source: `from typing import Any, Literal\nfrom .runtime import call as _call\n\n${bodies.join("\n")}`,
  };
}

function headOf(tool: ToolSchema, name: string): string {
  const { needed, optional } = parametersOf(tool);
  const parameters = [...needed, ...optional];
  const list = [...(parameters.length > 0 ? ["*", ...parameters] : []), "**more: Any"];
  const doc = oneLine(tool.description, MOST_TOOL_CHARS).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return `def ${name}(${list.join(", ")}) -> Any:\n${doc === "" ? "" : `    "${doc}"\n`}`;
}

function parametersOf({ inputSchema }: ToolSchema) {
  const { properties, required } = isFields(inputSchema) ? inputSchema : {};
  const fields = isFields(properties) ? Object.entries(properties) : [];
  const isNeeded = new Set(Array.isArray(required) ? required : []);
  const needed: string[] = [];
  const optional: string[] = [];
  const known: (readonly [string, string])[] = [];
  for (const [key, schema] of fields) {
    // A name that Python does not take as it is goes into the rest, as a dictionary that is spread.
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(key) || snakeName(key).endsWith("_") || key === "more") continue;
    known.push([key, key]);
    const type = pythonType(schema);
    if (isNeeded.has(key)) needed.push(`${key}: ${type}`);
    else optional.push(`${key}: ${type} | None = None`);
  }
  return { needed, optional, known };
}

const TYPES: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  array: "list[Any]",
  object: "dict[str, Any]",
  null: "None",
};

function pythonType(schema: unknown): string {
  if (!isFields(schema)) return "Any";
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string")) {
    return `Literal[${schema.enum.map(quoted).join(", ")}]`;
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const named = types.map((one) => (typeof one === "string" ? TYPES[one] : undefined) ?? "Any");
  return named.includes("Any") ? "Any" : named.join(" | ");
}
