/** How long a command may take to end after a signal that was passed on: `--grace` of run and exec. */
import { parseTypedDurationMs } from "../policy/resources.js";
import type { OptionSpec, ParsedOptions } from "./option-spec.js";

const USUAL_MS = 10_000;

export const graceOption: OptionSpec = {
  long: "grace",
  value: "TIME",
  help: "after SIGINT, SIGTERM, SIGHUP or SIGQUIT, kill the command after this long (10s); a second one kills at once",
};

export function graceOf({ values }: Pick<ParsedOptions, "values">): number {
  const named = values.get(graceOption.long)?.[0];
  return named === undefined ? USUAL_MS : parseTypedDurationMs("--grace", named);
}
