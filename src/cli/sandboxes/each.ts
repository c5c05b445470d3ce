/** One thing done to each of several sandboxes, or of what else has a name. All are tried; the first that could not be done is the answer. */
import { AgentKernelError } from "../../core/errors.js";
import type { Invocation } from "../../invocation/index.js";
import { reportError } from "../errors.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

const MOST = 1000;

/** Each name is printed when it is done. */
export async function forEach(
  parsed: ParsedOptions,
  invocation: Invocation,
  verb: string,
  act: (name: string) => Promise<void>,
  { what = "the name of a sandbox", more = () => ({}) }: { what?: string; more?: () => object } = {},
): Promise<number> {
  const names = [...new Set(wordsOf(parsed, verb, what, 1, MOST))];
  const isJson = parsed.flags.has("json");
  const failures: unknown[] = [];
  const done: string[] = [];
  await Promise.all(
    names.map(async (name) => {
      try {
        await act(name);
        done.push(name);
        if (!isJson) await writeOut(invocation, `${name}\n`);
      } catch (error) {
        failures.push(error);
      }
    }),
  );
  const [first, ...others] = failures;
  if (first === undefined)
    return isJson ? await writeJson(invocation, { success: true, data: { names: done, ...more() } }) : 0;
  if (isJson && others.length > 0 && first instanceof AgentKernelError) throw first;
  for (const failure of isJson ? [] : others) await reportError(invocation, failure, { json: false });
  throw first;
}
