/** The query of a request, checked as its body would be. */
import { AgentKernelError } from "../../core/errors.js";
import type { Json } from "../schema/json-text.js";
import type { JsonSchema, Shape } from "../schema/shapes.js";

export function readQuery<T>(target: string, shape: Shape<T> | undefined): T | undefined {
  const at = target.indexOf("?");
  const given = new URLSearchParams(at < 0 ? "" : target.slice(at + 1));
  const values = new Map<string, Json>();
  const properties = (shape?.schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  for (const [key, text] of given) {
    if (values.has(key)) throw refused(key, "is there twice");
    if (shape === undefined) throw refused(key, "is not a parameter of this path");
    values.set(key, typed(text, Object.hasOwn(properties, key) ? properties[key] : undefined));
  }
  return shape?.read(values, "");
}

/** A text that reads as the wanted type is of that type; what does not is left to be refused by the shape. */
function typed(text: string, schema: JsonSchema | undefined): Json {
  if (schema?.type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (schema?.type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}

function refused(key: string, why: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `${key.slice(0, 100)} ${why}`, {
    details: { field: key.slice(0, 100) },
  });
}
