/** What pictures there are. A scene says what is typed and what must come; what is shown is whatever then came. */
import type { AgentName } from "../../../src/agents/agent.js";
import type { Protocol, Step } from "../../../test/support/model-servers/index.js";
import { agentScenes } from "./agents.js";
import { firstRun } from "./first-run.js";

/** One thing that a person does at the terminal. */
export interface Move {
  /** What the screen must have before. */
  readonly after: RegExp;
  readonly type?: string;
  readonly keys?: readonly string[];
  /** Words on the screen. */
  readonly click?: string;
}

/** Its words are written beforehand: what makes them true must be what the tool really answered. */
export interface Model {
  readonly protocol: Protocol;
  readonly script: readonly Step[];
  readonly answered: RegExp;
}

export interface Scene {
  readonly name: string;
  /** The agent that must be there. */
  readonly agent: AgentName | null;
  /** Where the picture goes, from the root of the checkout. */
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly columns: number;
  readonly rows: number;
  /** False where a program colours the ends of lines by erasing them: tmux tells of erased cells in some lines only. */
  readonly hasBlanks: boolean;
  /** Run before, out of sight; these must succeed. */
  readonly preparations: readonly (readonly string[])[];
  /** Files of the home that are there before the preparations. */
  readonly files: Readonly<Record<string, string>>;
  /** `{url}` stands for where the model is. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly model: Model | null;
  readonly moves: readonly Move[];
  readonly end: RegExp;
  /** Typed at the end, where a program does not end with its window. */
  readonly leaving?: string;
  /** Run when the window is closed, for what would outlive it; these must succeed. */
  readonly afterwards: readonly (readonly string[])[];
}

export const scenes: readonly Scene[] = [...agentScenes, firstRun];
