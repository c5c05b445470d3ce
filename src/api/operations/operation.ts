/**
 * src/api/operations owns the description of the API: every operation with its path, fields, answers and who may ask for
 * it. Requests are checked, and spec/openapi.json is made, from these tables alone. Nothing is done here.
 */
import type { ErrorCode } from "../../core/errors.js";
import type { JsonSchema, Shape } from "../schema/shapes.js";

/**
 * What a key may be given: `run` temporary sandboxes, `read` what there is, `sandboxes` named ones (and reading), `metrics`
 * figures of all. `admin` is everything, of everybody.
 */
export const scopes = ["run", "read", "sandboxes", "metrics", "admin"] as const;
export type Scope = (typeof scopes)[number];

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Content {
  readonly type: string;
  readonly schema: JsonSchema;
  readonly named?: Shape<unknown>["named"];
  readonly example?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly help: string;
  readonly content: readonly Content[];
}

export interface Operation<Body = unknown, Query = unknown> {
  readonly id: string;
  readonly method: Method;
  /** `{name}` is one segment; `{path}` at the end is all that follows. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly help?: string;
  /** Any of these is enough; null: nobody is asked who they are. */
  readonly scope: readonly Scope[] | null;
  readonly query?: Shape<Query>;
  /** Query and body are passed on as they are. */
  readonly isProxied?: true;
  /** A body of JSON. Without it none is read. */
  readonly body?: Shape<Body>;
  readonly isBodyOptional?: true;
  /** Kinds of body other than JSON. */
  readonly otherBodies?: readonly Content[];
  readonly answers: readonly Answer[];
  /** Codes of errors that are special to it. */
  readonly errors?: readonly ErrorCode[];
}

export function operation<Body = undefined, Query = undefined>(
  described: Operation<Body, Query>,
): Operation<Body, Query> {
  return described;
}

/** `{"success": true, "data": …}` */
export function answer(status: number, help: string, data: Shape<unknown>, example?: unknown): Answer {
  return { status, help, content: [enveloped(data, example)] };
}

export function enveloped(data: Shape<unknown>, example?: unknown): Content {
  return {
    type: "application/json",
    named: data.named,
    schema: {
      type: "object",
      properties: { success: { type: "boolean", const: true }, data: data.schema },
      required: ["success", "data"],
    },
    ...(example === undefined ? {} : { example: { success: true, data: example } }),
  };
}

/** Events of these names; the data of each is one JSON object. */
export function eventStream(help: string, names: readonly string[]): Answer {
  const schema = {
    type: "object",
    properties: {
      event: { type: "string", enum: names },
      data: { type: "string", contentMediaType: "application/json" },
    },
    required: ["event", "data"],
  };
  return { status: 200, help, content: [{ type: "text/event-stream", schema }] };
}

/** What a command's life is told by. */
export const commandEvents = ["started", "stdout", "stderr", "exit", "error"] as const;

export const bytes: JsonSchema = { type: "string", format: "binary" };
