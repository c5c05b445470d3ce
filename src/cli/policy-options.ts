/** The options that make a policy: `run` and `policy explain` take the same. All come from the table in src/settings. */
import { settableNumbers } from "../settings/index.js";
import { optionHelp } from "../settings/numeric-setting.js";
import type { OptionDescription } from "../settings/option.js";
import { leadingOptions, lifeSettings, type NamedOption, trailingOptions } from "../settings/options.js";
import type { OptionSpec } from "./option-spec.js";

export function optionSpec({
  flag,
  short,
  placeholder,
  choices,
  repeats,
  completes,
  help,
}: OptionDescription): OptionSpec {
  return {
    long: flag,
    ...(short === undefined ? {} : { short }),
    ...(placeholder === undefined ? {} : { value: placeholder }),
    ...(choices === undefined ? {} : { choices }),
    ...(repeats === undefined ? {} : { repeats }),
    ...(completes === undefined ? {} : { completes }),
    help,
  };
}

function specsOf(options: readonly NamedOption[]): readonly OptionSpec[] {
  return options.map(({ setting }) => optionSpec(setting));
}

export const policyOptions: readonly OptionSpec[] = [
  ...specsOf(leadingOptions),
  ...settableNumbers.map(({ setting }) => ({
    long: setting.flag,
    value: setting.quantity.placeholder,
    help: optionHelp(setting),
  })),
  ...specsOf(trailingOptions),
];

/** How long a sandbox that stays may. */
export const lifeOptions: readonly OptionSpec[] = specsOf(lifeSettings);

/** What `mcp server` leaves to its client, and to questions through it. */
const ofOneCall: readonly string[] = ["dir", "workdir", "publish", "ask"];

/** The same for every sandbox of an MCP server, as its user gives them. */
export const serverPolicyOptions: readonly OptionSpec[] = policyOptions
  .filter(({ long }) => !ofOneCall.includes(long))
  .map(({ short: _, ...option }) => option);
