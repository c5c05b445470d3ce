/** The published description of the API, made from the tables that requests are checked by. `npm run openapi` writes it. */
import { errorAnswers } from "./operations/errors.js";
import { execId, insidePath, sandboxName } from "./operations/fields.js";
import { allOperations } from "./operations/index.js";
import type { Answer, Content, Operation } from "./operations/operation.js";
import type { JsonSchema, Shape } from "./schema/shapes.js";

type AnyOperation = Operation<never, never>;

const about = {
  title: "agentkernel",
  description:
    'Sandboxes for AI coding agents on your own machine. Every JSON answer is `{"success": true, "data": …}` or `{"success": false, "error": {"code", "message", "hint"}}`; a command that exits non-zero is a result, not an error.',
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

export function openApiDocument(version: string): JsonSchema {
  const schemas = new Map<string, JsonSchema>();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const described of allOperations) {
    const methods = paths[described.path] ?? {};
    paths[described.path] = methods;
    methods[described.method.toLowerCase()] = operationOf(described, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { ...about, version },
    servers: [{ url: "http://localhost:8080", description: "agentkernel serve" }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key (agentkernel keys create), a JWT, or over loopback what agentkernel keys token prints. Not needed on the daemon's Unix socket.",
        },
      },
      headers: {
        RequestId: { description: "Names the request in the server's log.", schema: { type: "string" } },
        RetryAfter: { description: "Seconds to wait before asking again.", schema: { type: "integer" } },
      },
      schemas: Object.fromEntries([...schemas].sort(([one], [other]) => (one < other ? -1 : 1))),
    },
  };
}

/** As it lies in the file. */
export function openApiText(version: string): string {
  return `${JSON.stringify(openApiDocument(version), null, 2)}\n`;
}

function operationOf(described: AnyOperation, schemas: Map<string, JsonSchema>): JsonSchema {
  const { id, tag, summary, help, scope, body, answers, errors = [], otherBodies = [] } = described;
  const note = (named: Content["named"]) => {
    for (const [name, schema] of Object.entries(named ?? {})) schemas.set(name, schema);
  };
  if (body) note(body.named);
  const all = [...answers, ...errorAnswers(errors)];
  for (const { content } of all) for (const { named } of content) note(named);
  const parameters = parametersOf(described);
  const contents = [...(body ? [{ type: "application/json", schema: body.schema }] : []), ...otherBodies];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(help === undefined ? {} : { description: help }),
    ...(scope === null ? { security: [] } : { "x-scopes": scope }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(contents.length > 0
      ? { requestBody: { required: described.isBodyOptional !== true, content: contentOf(contents) } }
      : {}),
    responses: Object.fromEntries(all.map((one) => [String(one.status), answerOf(one)])),
  };
}

/** Parts of a path that are no sandbox. */
const inPathOf: Readonly<Record<string, JsonSchema>> = {
  port: { description: "The port inside.", schema: { type: "integer", minimum: 1, maximum: 65_535 }, example: 3000 },
  exec: { description: "The command.", schema: execId.schema, example: "x1f0c2a9b" },
};

function parametersOf({ path, query }: AnyOperation): readonly JsonSchema[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(name === "path"
      ? {
          description: "Everything that follows, slashes included.",
          schema: { type: "string", maxLength: maxPath },
          example: "workspace/a.txt",
        }
      : (inPathOf[name] ?? { description: "The sandbox.", schema: sandboxName.schema, example: "work" })),
  }));
  return [...inPath, ...(query === undefined ? [] : queryParameters(query))];
}

const maxPath = insidePath.schema.maxLength;

function queryParameters(query: Shape<unknown>): readonly JsonSchema[] {
  const properties = query.schema.properties as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    description,
    schema,
  }));
}

function answerOf({ status, help, content }: Answer): JsonSchema {
  const retry = status === 429 || status === 503;
  return {
    description: help,
    headers: {
      "X-Request-Id": { $ref: "#/components/headers/RequestId" },
      ...(retry ? { "Retry-After": { $ref: "#/components/headers/RetryAfter" } } : {}),
    },
    ...(content.length > 0 ? { content: contentOf(content) } : {}),
  };
}

function contentOf(contents: readonly Content[]): JsonSchema {
  return Object.fromEntries(
    contents.map(({ type, schema, example }) => [type, { schema, ...(example === undefined ? {} : { example }) }]),
  );
}
