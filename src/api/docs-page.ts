/** The description for people: one page that holds all it shows, and runs nothing from anywhere else. */
import { openApiDocument } from "./openapi.js";

type Node = Readonly<Record<string, unknown>>;

/** No script at all, no request to anybody: styles of its own only. */
export const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

export function docsPage(version: string): string {
  const document = openApiDocument(version) as {
    info: Node;
    paths: Record<string, Record<string, Node>>;
    components: Node;
  };
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const tags = [...new Set(all.map(({ operation }) => (operation.tags as readonly string[])[0] ?? ""))];
  const schemas = Object.entries(document.components.schemas as Record<string, Node>);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>agentkernel API ${escapeHtml(version)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>
<h1>agentkernel API <small>${escapeHtml(version)}</small></h1><p>${inline(String(document.info.description))}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<nav>${tags.map((tag) => `<a href="#${tag}">${tag}</a>`).join(" ")} <a href="#schemas">schemas</a></nav>
${tags
  .map((tag) =>
    section(
      tag,
      all.filter(({ operation }) => (operation.tags as readonly string[])[0] === tag),
    ),
  )
  .join("")}
<h2 id="schemas">schemas</h2>${schemas.map(([name, schema]) => schemaBlock(name, schema)).join("")}
</body></html>`;
}

interface Listed {
  readonly path: string;
  readonly method: string;
  readonly operation: Node;
}

function section(tag: string, listed: readonly Listed[]): string {
  return `<h2 id="${tag}">${tag}</h2>${listed.map(operationBlock).join("")}`;
}

function operationBlock({ path, method, operation }: Listed): string {
  const {
    summary,
    description,
    parameters = [],
    requestBody,
    responses,
  } = operation as {
    summary: string;
    description?: string;
    parameters?: readonly Node[];
    requestBody?: { content: Record<string, { schema: Node }> };
    responses: Record<string, { description: string; content?: Record<string, { schema: Node }> }>;
  };
  const scopes = operation["x-scopes"] as readonly string[] | undefined;
  const body = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => `<li>${type}: ${typeText(schema)}</li>`,
  );
  const rows = Object.entries(responses).map(
    ([status, answer]) =>
      `<tr><td>${status}</td><td>${Object.entries(answer.content ?? {})
        .map(([type, { schema }]) => (status < "400" ? `${type} ${typeText(dataOf(schema))}` : ""))
        .join("<br>")}</td><td>${inline(answer.description)}</td></tr>`,
  );
  return `<details id="${String(operation.operationId)}"><summary><b class="${method}">${method}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
${description === undefined ? "" : `<p>${inline(description)}</p>`}
<p class="scope">${scopes === undefined ? "open to all" : `needs the scope ${scopes.join(" or ")}`}</p>
${parameters.length === 0 ? "" : `<ul>${parameters.map(parameterItem).join("")}</ul>`}
${body.length === 0 ? "" : `<p>Body:</p><ul>${body.join("")}</ul>`}<table>${rows.join("")}</table></details>`;
}

function parameterItem(parameter: Node): string {
  const { name, description = "", schema } = parameter as { name: string; description?: string; schema: Node };
  return `<li><code>${escapeHtml(name)}</code> (${String(parameter.in)}) ${typeText(schema)} ${inline(description)}</li>`;
}

function schemaBlock(name: string, schema: Node): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Node>);
  const required = (schema.required ?? []) as readonly string[];
  const rows = properties.map(
    ([key, inner]) =>
      `<tr><td><code>${escapeHtml(key)}</code>${required.includes(key) ? "" : "?"}</td><td>${typeText(inner)}</td><td>${inline(String(inner.description ?? ""))}</td></tr>`,
  );
  return `<details id="schema-${name}"><summary><code>${name}</code> ${inline(String(schema.description ?? ""))}</summary>
${rows.length === 0 ? `<p>${typeText(schema)}</p>` : `<table>${rows.join("")}</table>`}</details>`;
}

/** The schema of what the envelope holds. */
function dataOf(schema: Node): Node {
  const { data } = (schema.properties ?? {}) as { data?: Node };
  return data ?? schema;
}

function typeText(schema: Node): string {
  const reference = /\/(\w+)$/.exec(String(schema.$ref ?? ""))?.[1];
  if (reference !== undefined) return `<a href="#schema-${reference}">${reference}</a>`;
  if (Array.isArray(schema.anyOf)) return schema.anyOf.map(typeText).join(" | ");
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => `"${escapeHtml(String(one))}"`).join(" | ");
  if (schema.type === "array") return `${typeText((schema.items ?? {}) as Node)}[]`;
  return escapeHtml([schema.type ?? "any"].flat().join(" | "));
}

function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}" +
  "code{font:0.9em ui-monospace,monospace;background:#f3f3f3;padding:0 .2em}summary{cursor:pointer;padding:.3rem 0}" +
  "details{border-bottom:1px solid #ddd}table{border-collapse:collapse;width:100%}td{border:1px solid #eee;padding:.2rem .5rem;vertical-align:top}" +
  "b{display:inline-block;min-width:4.5rem}.GET{color:#06c}.POST{color:#080}.PUT,.PATCH{color:#a50}.DELETE{color:#b00}.scope{color:#666}" +
  "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}code{background:#222}td{border-color:#333}details{border-color:#333}a{color:#8cf}}";
