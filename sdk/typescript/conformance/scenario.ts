/** The form of sdk/conformance/scenarios.json, as far as a runner needs it. */
export interface Command {
  readonly command: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
}

export interface Step {
  readonly call: string;
  readonly command?: readonly string[];
  readonly commands?: readonly Command[];
  readonly parallel?: number;
  /** As the API writes them. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly stdin_base64?: string;
  readonly name?: string;
  readonly memory?: boolean;
  /** The sandbox of an earlier step, and under which word later ones find that of this step. */
  readonly on?: string;
  readonly as?: string;
  readonly name_of?: string;
  /** The snapshot that is restored. */
  readonly from?: string;
  readonly state?: "created" | "running" | "paused" | "stopped";
  readonly force?: boolean;
  readonly path?: string;
  readonly paths?: readonly string[];
  readonly content?: string;
  readonly base64?: string;
  readonly mode?: string;
  readonly recursive?: boolean;
  readonly cols?: number;
  readonly rows?: number;
  readonly typed?: string;
  readonly leave_after?: string;
  readonly cancel_after_ms?: number;
  readonly skip?: Readonly<Record<string, string>>;
  /** For whoever judges. */
  readonly expect?: object;
}

export interface Scenario {
  readonly id: string;
  readonly server: string;
  readonly client?: { readonly api_key?: string; readonly request_timeout_ms?: number; readonly max_retries?: number };
  readonly steps: readonly Step[];
}

export interface Outcome {
  readonly result?: unknown;
  readonly events?: readonly unknown[];
  readonly error?: object;
}

export function scenariosIn(text: string, server: string): readonly Scenario[] {
  const { scenarios } = JSON.parse(text) as { scenarios: readonly Scenario[] };
  return scenarios.filter((scenario) => scenario.server === server);
}
