/** The published JSON Schemas, made from the tables that the files are read by. `npm run schemas` writes them. */
import { configShape } from "./config-shape.js";
import { policyShape } from "./policy-shape.js";
import type { JsonSchema } from "./shapes.js";

const draft = "https://json-schema.org/draft/2020-12/schema";

interface PublishedSchema {
  /** In spec/schemas. */
  readonly file: string;
  readonly schema: JsonSchema;
}

export const publishedSchemas: readonly PublishedSchema[] = [
  {
    file: "agentkernel.schema.json",
    schema: {
      $schema: draft,
      title: "agentkernel configuration",
      description: "agentkernel.toml in a project, or agentkernel/config.toml in the user's configuration folder.",
      ...configShape.schema,
    },
  },
  {
    file: "policy.schema.json",
    schema: {
      $schema: draft,
      title: "agentkernel policy",
      description: "A policy file, as YAML or JSON. What it does not open stays shut.",
      ...policyShape.schema,
    },
  },
];

/** As it lies in the file. */
export function schemaText(schema: JsonSchema): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}
