/**
 * JSON schemas as TypeScript types. Pure. A schema comes from a server and may be anything: what is not understood, too
 * deep, too large or turns in a circle is `unknown`, never an error and never more text than the budget allows.
 */
import { blockComment, MOST_FIELD_CHARS } from "./documentation.js";
import { isIdentifier, quoted } from "./names.js";

type Fields = Readonly<Record<string, unknown>>;

const MOST_DEPTH = 12;
const MOST_NODES = 1500;

interface Walk {
  readonly root: unknown;
  readonly refs: readonly string[];
  readonly depth: number;
  /** How many objects it lies in, which is how far its lines stand in. */
  readonly within: number;
  readonly budget: { left: number };
}

export function typeOf(schema: unknown): string {
  return typeAt(schema, { root: schema, refs: [], depth: 0, within: 0, budget: { left: MOST_NODES } });
}

function typeAt(schema: unknown, walk: Walk): string {
  if (schema === true || !isFields(schema)) return schema === false ? "never" : "unknown";
  if (walk.depth > MOST_DEPTH || --walk.budget.left < 0) return "unknown";
  const inner = { ...walk, depth: walk.depth + 1 };
  if (typeof schema.$ref === "string") return refType(schema.$ref, inner);
  if ("const" in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return union(options.map((one) => typeAt(one, inner)));
  if (Array.isArray(schema.allOf)) {
    const parts = [...schema.allOf, ...("properties" in schema ? [{ ...schema, allOf: undefined }] : [])];
    return [...new Set(parts.map((one) => parenthesized(typeAt(one, inner))))].join(" & ") || "unknown";
  }
  const { type } = schema;
  const types = Array.isArray(type) ? type : [type ?? ("properties" in schema ? "object" : undefined)];
  const named = types.map((one) => typeNamed(one, schema, inner));
  return union(schema.nullable === true ? [...named, "null"] : named);
}

function typeNamed(type: unknown, schema: Fields, walk: Walk): string {
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayType(schema, walk);
    case "object":
      return objectType(schema, walk);
    default:
      return "unknown";
  }
}

function arrayType({ items, prefixItems }: Fields, walk: Walk): string {
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((one) => typeAt(one, walk)).join(", ")}]`;
  return `${parenthesized(typeAt(items, walk))}[]`;
}

function objectType({ properties, required, additionalProperties: more }: Fields, walk: Walk): string {
  const named = isFields(properties) ? Object.entries(properties) : [];
  const inner = { ...walk, within: walk.within + 1 };
  const rest = more === undefined || more === false ? null : typeAt(more, inner);
  if (named.length === 0) return more === false ? "Record<string, never>" : `Record<string, ${rest ?? "unknown"}>`;
  const needed = new Set(Array.isArray(required) ? required : []);
  const indent = "  ".repeat(inner.within);
  const lines = named.map(([key, value]) => {
    const comment = isFields(value) ? blockComment(value.description, indent, MOST_FIELD_CHARS) : "";
    const name = isIdentifier(key) ? key : quoted(key);
    return `${comment}${indent}${name}${needed.has(key) ? "" : "?"}: ${typeAt(value, inner)};\n`;
  });
  const open = rest === null ? "" : `${indent}[more: string]: unknown;\n`;
  return `{\n${lines.join("")}${open}${"  ".repeat(walk.within)}}`;
}

function refType(ref: string, walk: Walk): string {
  if (!ref.startsWith("#") || walk.refs.includes(ref)) return "unknown";
  const path = ref
    .slice(1)
    .split("/")
    .filter((part) => part !== "");
  const target = path.reduce<unknown>((value, part) => {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    return isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }, walk.root);
  return typeAt(target, { ...walk, refs: [...walk.refs, ref] });
}

function literal(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  return value === null || ["number", "boolean"].includes(typeof value) ? JSON.stringify(value) : "unknown";
}

function union(types: readonly string[]): string {
  const all = [...new Set(types)];
  if (all.length === 0) return "never";
  return all.includes("unknown") ? "unknown" : all.join(" | ");
}

function parenthesized(type: string): string {
  return /[|&] /.test(type) && !type.startsWith("{") ? `(${type})` : type;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
