/** sdk/conformance/scenarios.json: what every SDK does, and what must come of it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../repository.js";

export const scenariosPath = join(repository, "sdk", "conformance", "scenarios.json");

/** Scenarios that no runner may pass over: each has something of its own that none of them knows. */
export const unknownPath = join(repository, "sdk", "conformance", "unknown.json");

/** Of clients that start the server by themselves. */
export const localPath = join(repository, "sdk", "conformance", "local.json");

interface Expectation {
  readonly result?: unknown;
  readonly events?: readonly Readonly<Record<string, unknown>>[];
  readonly error?: unknown;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of a sample that comes in the envelope. */
  readonly data?: string;
  readonly error?: object;
  readonly text?: string;
  readonly stream?: readonly (string | { readonly pause_ms?: number; readonly hang?: true })[];
  /** The same, byte by byte. */
  readonly stream_bytes?: string;
  readonly delay_ms?: number;
  /** The connection ends without an answer. */
  readonly break?: true;
  /** No answer ever comes. */
  readonly hang?: true;
}

interface ExpectedRequest {
  readonly method?: string;
  readonly path?: string;
  readonly authorization?: string;
  /** At least so long after the one before. */
  readonly after_ms?: number;
}

export interface Scenario {
  readonly id: string;
  readonly about: string;
  readonly server: string;
  /** Not every server does it: one that says so is taken at its word. */
  readonly may_be_unsupported?: true;
  readonly script?: readonly ScriptedAnswer[];
  readonly steps: readonly { readonly call: string; readonly expect: Expectation; readonly skip?: object }[];
  readonly requests?: readonly ExpectedRequest[];
}

interface ScenarioFile {
  readonly samples: Readonly<Record<string, unknown>>;
  readonly scenarios: readonly Scenario[];
}

/** With the names that a runner was given in their places. */
export function readScenarios(names: Readonly<Record<string, string>> = {}): ScenarioFile {
  let text = readFileSync(scenariosPath, "utf8");
  for (const [name, value] of Object.entries(names)) text = text.replaceAll(`{${name}}`, value);
  return JSON.parse(text);
}
