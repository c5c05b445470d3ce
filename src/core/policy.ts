/**
 * The policy of one sandbox, as a value. Only src/policy makes one; backends, gateway and runtime read it.
 */
import { compatibilityModes, egressModes, profileNames, workspaceModes } from "../settings/choices.js";
import type { NumbersIn } from "../settings/index.js";

export { compatibilityModes, egressModes, profileNames, workspaceModes };
export type ProfileName = (typeof profileNames)[number];
export type CompatibilityMode = (typeof compatibilityModes)[number];
export type WorkspaceMode = (typeof workspaceModes)[number];
export type EgressMode = (typeof egressModes)[number];

/** Names the content that a candidate must hold to be hidden (native/secrets/src/lib.rs says what each is). */
export const hiddenContents = ["private-key", "credential", "token", "login", "remote"] as const;
export type HiddenContent = (typeof hiddenContents)[number];

/** A file that the sandbox never sees: by its name alone, or if it holds what the rule says. */
export interface HideRule {
  readonly glob: string;
  readonly holds?: HiddenContent;
  /** Why, in a few words. Built-in rules have one and yield to `shows`; a user's own rules do not. */
  readonly reason?: string;
  /** An exception to built-in rules: what it names is visible, with everything below. */
  readonly shows?: true;
}

export interface Mount {
  /** Absolute path on the host. */
  readonly host: string;
  /** Absolute path in the sandbox. */
  readonly guest: string;
  readonly readonly: boolean;
}

export interface FilesystemPolicy extends NumbersIn<"fs"> {
  readonly workspace: { readonly mode: WorkspaceMode; readonly readonly: boolean };
  /** The user's home folder: not there, or read-only with secrets hidden. */
  readonly home: "none" | "readonly";
  readonly mounts: readonly Mount[];
  readonly rootReadonly: boolean;
  /** Globs relative to each shown folder. */
  readonly deny: readonly HideRule[];
  /** Never changed by a sandbox, also where everything around is writable. */
  readonly protect: readonly string[];
  /** Changes wait until the user has said yes: agents edit these legitimately, and they steer what the user runs later. */
  readonly review: readonly string[];
}

export type NetworkRule =
  | { readonly domain: string; readonly ports?: readonly number[] }
  | { readonly cidr: string; readonly ports?: readonly number[] }
  | { readonly preset: string };

/** A secret that one host gets in one header, and that is a placeholder inside. The value itself is never here. */
export interface SecretBinding {
  /** The variable that holds it on the host, and the placeholder inside. */
  readonly name: string;
  readonly host: string;
  /** In lower case. */
  readonly header: string;
}

interface NetworkPolicy {
  readonly egress: EgressMode;
  readonly allow: readonly NetworkRule[];
  readonly deny: readonly NetworkRule[];
  /** Beyond these nothing can be approved while it runs: the user's limit. Absent: there is none. */
  readonly approvable?: readonly NetworkRule[];
  readonly secrets: readonly SecretBinding[];
}

/** Programs by base name, held against the first word of a command on the host. A convenience, not a wall. */
export interface CommandRules {
  /** Only these; null: all. */
  readonly allow: readonly string[] | null;
  readonly deny: readonly string[];
}

/** Rules that decide whether a destination may be reached. */
export type NetworkRules = Pick<NetworkPolicy, "egress" | "allow" | "deny" | "approvable">;

export interface ProcessPolicy {
  /** `name`, `uid` or `uid:gid` inside the sandbox; null: the image's user. */
  readonly user: string | null;
  /** Nothing in the sandbox runs as its root. */
  readonly noRoot: boolean;
  readonly capabilities: "default" | "none";
  /** Which seccomp list. */
  readonly seccomp: "default" | "strict";
  /** Landlock: everything that may be written at all, or the project and temporary files only. */
  readonly landlock: "default" | "workspace";
  readonly passHostEnv: boolean;
  /** Set for every command, after what is passed on from the host. */
  readonly env: Readonly<Record<string, string>>;
  readonly commands: CommandRules;
}

/** Limits, by the names that src/settings gives them; null: none. */
export type ResourcePolicy = NumbersIn<"resources">;

export interface Policy {
  readonly profile: ProfileName;
  readonly mode: CompatibilityMode;
  readonly fs: FilesystemPolicy;
  readonly net: NetworkPolicy;
  readonly proc: ProcessPolicy;
  readonly resources: ResourcePolicy;
}
