/** What the parts of E2B's API share. */
import type { DialectHost } from "../api/dialect.js";
import type { Sandbox } from "../runtime/sandboxes/index.js";
import type { Processes } from "./envd/processes.js";
import type { Watchers } from "./envd/watch.js";
import type { E2bOptions } from "./options.js";
import type { E2bRecord } from "./sandboxes/record.js";
import type { Records } from "./sandboxes/records.js";
import type { Timeouts } from "./sandboxes/timeouts.js";
import type { Tokens } from "./tokens.js";

export interface E2bContext extends E2bOptions {
  readonly host: DialectHost;
  readonly tokens: Tokens;
  readonly records: Records;
  readonly timeouts: Timeouts;
  readonly processes: Processes;
  readonly watchers: Watchers;
}

/** A sandbox of a client of E2B. */
export interface Found {
  readonly sandbox: Sandbox;
  readonly record: E2bRecord;
}

/** Undefined where there is none, or where it is nothing that a client of E2B knows. */
export function findSandbox({ host, records }: E2bContext, name: string): Found | undefined {
  const sandbox = host.backing.sandboxes.list().find((one) => one.name === name);
  const record = sandbox === undefined ? undefined : records.of(sandbox);
  return sandbox === undefined || record === undefined ? undefined : { sandbox, record };
}
