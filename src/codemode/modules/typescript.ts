/** A server's tools as a module of TypeScript: declarations for readers and the compiler, JavaScript for the program. */
import type { Catalog, ToolSchema } from "../servers/index.js";
import { blockComment, MOST_TOOL_CHARS } from "./documentation.js";
import { camelName, quoted, uniqueNames } from "./names.js";
import { isFields, typeOf } from "./schema-type.js";

export interface TypeScriptModule {
  /** Of each tool, by its own name. */
  readonly declarations: ReadonlyMap<string, string>;
  readonly declarationFile: string;
  readonly javascript: string;
}

export function typescriptModule({ server, tools }: Catalog): TypeScriptModule {
  const names = uniqueNames(
    tools.map(({ name }) => name),
    camelName,
  );
  const nameOf = ({ name }: ToolSchema) => names.get(name) ?? name;
  const declarations = new Map(tools.map((tool) => [tool.name, declarationOf(tool, nameOf(tool))]));
  const functions = tools.map(
    (tool) => `export const ${nameOf(tool)} = (args) => call(${quoted(server)}, ${quoted(tool.name)}, args);\n`,
  );
  return {
    declarations,
    declarationFile: [...declarations.values()].join("\n"),
    javascript: `import { call } from "./runtime.js";\n${functions.join("")}`,
  };
}

function declarationOf({ description, inputSchema, outputSchema }: ToolSchema, name: string): string {
  const { properties, required } = isFields(inputSchema) ? inputSchema : {};
  const hasFields = isFields(properties) && Object.keys(properties).length > 0;
  const isNeeded = Array.isArray(required) && required.length > 0;
  const args = hasFields ? `args${isNeeded ? "" : "?"}: ${typeOf(inputSchema)}` : "args?: Record<string, unknown>";
  // Without a schema a result is text, or what the text is as JSON.
  const result = outputSchema === undefined ? "any" : typeOf(outputSchema);
  return `${blockComment(description, "", MOST_TOOL_CHARS)}export function ${name}(${args}): Promise<${result}>;\n`;
}
