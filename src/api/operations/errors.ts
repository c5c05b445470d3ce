/** The one form of errors. */
import { type ErrorCode, errorTable } from "../../core/errors.js";
import { answerObject, anyObject, field, named, optional } from "../schema/object-shape.js";
import { choice, nullable, text } from "../schema/shapes.js";
import type { Answer } from "./operation.js";

const codes = Object.keys(errorTable) as ErrorCode[];

const errorShape = named(
  "Error",
  answerObject({
    code: field(choice(codes), "What kind of error; spec/errors.json says what each means."),
    message: field(text(), "What failed and why, for people."),
    hint: field(nullable(text()), "What to do next."),
    details: optional(anyObject(), "More, by code; `field` names the part of the request that is wrong."),
  }),
);

/** `{"success": false, "error": …}` */
export const failure = {
  schema: { $ref: "#/components/schemas/Failure" },
  named: {
    ...errorShape.named,
    Failure: {
      type: "object",
      properties: { success: { type: "boolean", const: false }, error: errorShape.schema },
      required: ["success", "error"],
    },
  },
};

/** Whatever is asked, these can be the answer. */
const always: readonly ErrorCode[] = [
  "invalid_argument",
  "unauthorized",
  "forbidden",
  "not_found",
  "payload_too_large",
  "too_many_requests",
  "internal",
  "stopping",
];

/** One answer a status, naming the codes that come with it. */
export function errorAnswers(own: readonly ErrorCode[]): readonly Answer[] {
  const wanted = codes.filter((code) => always.includes(code) || own.includes(code));
  const statuses = [...new Set(wanted.map((code) => errorTable[code].http))].sort((one, other) => one - other);
  return statuses.map((status) => ({
    status,
    help: wanted
      .filter((code) => errorTable[code].http === status)
      .map((code) => `\`${code}\``)
      .join(", "),
    content: [{ type: "application/json", ...failure }],
  }));
}
