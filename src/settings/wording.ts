/**
 * How an interface spells settings, so that an error or a hint is made once and read in the reader's own terms:
 * `--memory` on the command line, `resources.memory_mb` in JSON.
 */
import { type SettablePath, settableNumbers } from "./index.js";
import type { OptionDescription } from "./option.js";
import { type OptionName, optionSettings } from "./options.js";

export type SettingName = OptionName | SettablePath;

export type NameOf = (setting: SettingName) => string;

export interface Wording {
  readonly name: NameOf;
  /** A setting with a value: `--network allowlist`, `network: "allowlist"`. */
  readonly with: (setting: SettingName, value: string) => string;
  /** Removes a sandbox that runs. */
  readonly forcedRemoval: string;
  /** Shows the sandboxes that there are. */
  readonly listing: string;
  /** Removes one sandbox. */
  readonly removal: (sandbox: string) => string;
  /** Where the ids of commands are. */
  readonly commandIds: string;
}

/** A text, or one that each interface has in its own terms. */
export type Phrase = string | ((wording: Wording) => string);

export function inWording(phrase: Phrase, wording: Wording): string {
  return typeof phrase === "string" ? phrase : phrase(wording);
}

const flags = new Map<string, string>([
  ...Object.entries(optionSettings).map(([name, { flag }]) => [name, `--${flag}`] as const),
  ...settableNumbers.map(({ path, setting }) => [path, `--${setting.flag}`] as const),
]);

const fields = new Map<string, string>([
  ...Object.entries<OptionDescription>(optionSettings).flatMap(([name, { json }]) =>
    json === undefined ? [] : [[name, json] as const],
  ),
  ...settableNumbers.map(({ path, jsonPath }) => [path, jsonPath] as const),
]);

export function flagOf(setting: SettingName): string {
  return flags.get(setting) ?? setting;
}

/** What a request cannot set is called by its flag, which the user of the machine can give. */
export function fieldOf(setting: SettingName): string {
  return fields.get(setting) ?? flagOf(setting);
}

/** The name in JSON of what errors call by its path in the policy; null where it has none. */
export function fieldOfPath(path: string): string | null {
  return fields.get(path) ?? null;
}

export const commandLine: Wording = {
  name: flagOf,
  with: (setting, value) => `${flagOf(setting)} ${value}`,
  forcedRemoval: "agentkernel remove --force",
  listing: "agentkernel list",
  removal: (sandbox) => `agentkernel remove ${sandbox}`,
  commandIds: "agentkernel info shows its commands",
};

export const jsonRequest: Wording = {
  name: fieldOf,
  with: (setting, value) => (fields.has(setting) ? `${fieldOf(setting)} ${value}` : `${flagOf(setting)} ${value}`),
  forcedRemoval: "DELETE with ?force=true",
  listing: "GET /sandboxes",
  removal: (sandbox) => `DELETE /sandboxes/${sandbox}`,
  commandIds: "its id is in the answer that it was started with",
};
