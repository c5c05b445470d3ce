/** A tool policy from the text of its file. It is understood whole or is an error. */
import { parseJson } from "../../api/schema/json-text.js";
import { field, object, optional } from "../../api/schema/object-shape.js";
import { flag, list, text, whole } from "../../api/schema/shapes.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { nothingAllowed, type ToolPolicy } from "./policy.js";

const pattern = text({ expected: "a pattern such as github/list_*", minLength: 1, maxLength: 256 });
const patterns = list(pattern, { maxItems: 1000 });
const count = whole({ min: 1, max: 1 << 30 });

const shape = object({
  allow: optional(patterns, "Tools that code may call."),
  deny: optional(patterns, "Tools that it may not call, whatever else is said."),
  ask: optional(patterns, "Tools of which the user is asked about each call."),
  untrusted: optional(patterns, "Tools whose answers are marked as untrusted."),
  arguments: optional(
    list(
      object({
        tool: field(pattern, "Which tools."),
        argument: field(text({ minLength: 1, maxLength: 256 }), "Its name, with dots for inner ones."),
        allow: field(patterns, "What its text may be."),
        optional: optional(flag(), "It may be missing (false)."),
      }),
      { maxItems: 1000 },
    ),
    "What arguments may be.",
  ),
  limits: optional(
    object({
      calls: optional(count, "Calls of one run (1000)."),
      result_bytes: optional(count, "All results of one run together (64 MiB)."),
      argument_bytes: optional(count, "Arguments of one call (1 MiB)."),
      one_result_bytes: optional(count, "One result (8 MiB)."),
      at_once: optional(whole({ min: 1, max: 256 }), "Calls at the same time (16)."),
    }),
    "How much of it.",
  ),
});

export function toolPolicyOf(source: string, file: string): ToolPolicy {
  try {
    const read = shape.read(parseJson(Buffer.from(source)), "");
    const { limits: named } = read;
    const usual = nothingAllowed.limits;
    return {
      allow: read.allow ?? [],
      deny: read.deny ?? [],
      ask: read.ask ?? [],
      untrusted: read.untrusted ?? [],
      arguments: read.arguments ?? [],
      limits: {
        calls: named?.calls ?? usual.calls,
        resultBytes: named?.result_bytes ?? usual.resultBytes,
        argumentBytes: named?.argument_bytes ?? usual.argumentBytes,
        oneResultBytes: named?.one_result_bytes ?? usual.oneResultBytes,
        atOnce: named?.at_once ?? usual.atOnce,
      },
    };
  } catch (error) {
    if (!isAgentKernelError(error)) throw error;
    const { hint } = error;
    throw new AgentKernelError("invalid_policy", `${file}: ${error.message}`, hint === undefined ? {} : { hint });
  }
}

/** What two say together: lists add up, and of limits the smaller one holds. */
export function together(a: ToolPolicy, b: ToolPolicy): ToolPolicy {
  const least = (name: keyof ToolPolicy["limits"]) => Math.min(a.limits[name], b.limits[name]);
  return {
    allow: [...a.allow, ...b.allow],
    deny: [...a.deny, ...b.deny],
    ask: [...a.ask, ...b.ask],
    untrusted: [...a.untrusted, ...b.untrusted],
    arguments: [...a.arguments, ...b.arguments],
    limits: {
      calls: least("calls"),
      resultBytes: least("resultBytes"),
      argumentBytes: least("argumentBytes"),
      oneResultBytes: least("oneResultBytes"),
      atOnce: least("atOnce"),
    },
  };
}
