/** What this folder knows of one coding agent, as data: how to recognise it, and what it needs in which file. */
import type { Surroundings } from "../core/surroundings.js";
import type { Edit } from "./edit/index.js";

export const agentNames = ["claude", "codex", "gemini", "opencode"] as const;
export type AgentName = (typeof agentNames)[number];

/** For one user in all projects, or for one project and everybody who works on it. */
export const scopes = ["user", "project"] as const;
export type Scope = (typeof scopes)[number];

/** The words that start agentkernel from an agent's configuration; more than one only where it is in no PATH. */
export type Launch = readonly [string, ...string[]];

export interface Setting {
  readonly scope: Scope;
  readonly launch: Launch;
  readonly at: Surroundings;
  /** Whether there is such a file; decides between names that an agent accepts. */
  readonly exists: (path: string) => boolean;
}

/** What has to be true of one file. */
export interface FileEdits {
  readonly path: string;
  /** Readable by its owner alone, where it has to be made. */
  readonly isPrivate?: true;
  readonly edits: readonly Edit[];
}

export interface Agent {
  readonly name: AgentName;
  readonly title: string;
  /** The program's name in PATH. */
  readonly program: string;
  /** The npm packages that may hold it: a version is read off them without starting anything. */
  readonly packages: readonly string[];
  /** Variables that hold a key that it can work with. */
  readonly keyVariables: readonly string[];
  /** Files that a login leaves. Only whether they are there is looked at. */
  loginFiles(at: Surroundings): readonly string[];
  files(setting: Setting): readonly FileEdits[];
  /** What the user should know after an installation. */
  remarks(setting: Setting): readonly string[];
}
