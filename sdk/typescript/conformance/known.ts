/** What this runner knows of a scenario. Anything else ends it: an option that goes missing would pass every test. */
import type { CopyOptions, CreateOptions, ExecOptions, Resources, RunOptions } from "agentkernel";
import { optionKeys } from "./option-keys.js";
import type { Scenario, Step } from "./scenario.js";

/** Is not an outcome of a step, but the end of the run. */
export class Unknown extends Error {}

type Keys<T> = Readonly<Record<keyof Required<T>, true>>;

// The compiler holds these to the SDK's own types.
const resources: Keys<Resources> = optionKeys.Resources;
const exec: Keys<ExecOptions> = optionKeys.ExecOptions;
const create: Keys<CreateOptions> = optionKeys.CreateOptions;
const copy: Keys<CopyOptions> = optionKeys.CopyOptions;
const run: Keys<RunOptions> = optionKeys.RunOptions;

const optionsOf: Readonly<Record<string, Readonly<Record<string, true>>>> = {
  run,
  stream: run,
  batch: run,
  exec,
  exec_stream: exec,
  exec_detached: exec,
  session: create,
  scoped: create,
  create,
  fork: copy,
  restore: copy,
};

const stepFields: Keys<Step> = {
  call: true,
  command: true,
  commands: true,
  parallel: true,
  options: true,
  stdin_base64: true,
  name: true,
  memory: true,
  on: true,
  as: true,
  name_of: true,
  from: true,
  state: true,
  force: true,
  path: true,
  paths: true,
  content: true,
  base64: true,
  mode: true,
  recursive: true,
  cols: true,
  rows: true,
  typed: true,
  leave_after: true,
  cancel_after_ms: true,
  skip: true,
  expect: true,
};

const settings = { api_key: true, request_timeout_ms: true, max_retries: true };

export function refuseUnknown({ id, client = {}, steps }: Scenario): void {
  onlyKnown(client, settings, `setting of the client of ${id}`);
  for (const step of steps) {
    onlyKnown(step, stepFields, `field of a step of ${id}`);
    const known = optionsOf[step.call] ?? {};
    for (const { options = {} } of [step, ...(step.commands ?? [])])
      onlyOptions(options, known, `option of ${step.call}`);
    for (const command of step.commands ?? [])
      onlyKnown(command, { command: true, options: true }, "field of a command");
  }
}

function onlyOptions(options: object, known: Readonly<Record<string, true>>, what: string): void {
  const camel = (key: string) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  onlyKnown(
    Object.fromEntries(Object.entries(options).map(([key, value]) => [camel(key), value])),
    known,
    what,
    options,
  );
  if ("resources" in options) onlyOptions(options.resources as object, resources, `${what}, resources`);
}

function onlyKnown(given: object, known: object, what: string, shown: object = given): void {
  const index = Object.keys(given).findIndex((key) => !Object.hasOwn(known, key));
  if (index >= 0) throw new Unknown(`${Object.keys(shown)[index]} is no ${what} that this runner knows`);
}
