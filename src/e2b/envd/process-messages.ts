/** Messages of `process.Process`, as far as clients send them. */
import { env } from "../../api/operations/fields.js";
import { field, object, optional } from "../../api/schema/object-shape.js";
import { flag, list, text, type ValueOf, whole } from "../../api/schema/shapes.js";
import { invalid } from "../errors.js";

const MAX_WORDS = 4096;
const word = text({ maxLength: 131_072 });
const pid = whole({ min: 1, max: 2 ** 32 - 1 });
const selector = object({ pid: optional(pid, "By number."), tag: optional(word, "By name.") });
const size = object({
  cols: optional(whole({ min: 0, max: 1000 }), "Width."),
  rows: optional(whole({ min: 0, max: 1000 }), "Height."),
});
export type Selector = ValueOf<typeof selector>;

const pty = object({ size: optional(size, "Of the window.") });
const input = object({ stdin: optional(text(), "In base64."), pty: optional(text(), "In base64.") });

export type Input = ValueOf<typeof input>;

export const startRequest = object({
  process: field(
    object({
      cmd: field(text({ minLength: 1, maxLength: 131_072 }), "The program."),
      args: optional(list(word, { maxItems: MAX_WORDS }), "Its arguments."),
      envs: optional(env, "Variables."),
      cwd: optional(text({ maxLength: 4096 }), "Where it starts."),
    }),
    "What is run.",
  ),
  pty: optional(pty, "It gets a terminal."),
  tag: optional(word, "Its name."),
  stdin: optional(flag(), "Whether it has an input."),
});
export type StartRequest = ValueOf<typeof startRequest>;

export const selected = object({ process: field(selector, "Which one.") });
export const updateRequest = object({ process: field(selector, "Which one."), pty: optional(pty, "The new size.") });
export const inputRequest = object({
  process: field(selector, "Which one."),
  input: optional(input, "What it reads."),
});
export const signalRequest = object({
  process: field(selector, "Which one."),
  signal: field({ ...text(), read: (value) => signalOf(value) }, "By name or number."),
});
export const empty = object({});
export const streamedInput = object({
  start: optional(selected, "Which one; first of all."),
  data: optional(object({ input: field(input, "What it reads.") }), "More."),
  keepalive: optional(empty, "Nothing."),
});

/** Names as the protocol has them. */
const signals: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  ["SIGNAL_SIGTERM", 15],
  [15, 15],
  ["SIGNAL_SIGKILL", 9],
  [9, 9],
]);

function signalOf(value: unknown): number {
  const signal = signals.get(value);
  if (signal === undefined) throw invalid("signal", "is neither SIGNAL_SIGTERM nor SIGNAL_SIGKILL");
  return signal;
}
