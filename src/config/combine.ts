/** Which of several files and flags chooses profile, mode, image and backend, and where each one's layers go. */
import type { CompatibilityMode, ProfileName } from "../core/policy.js";
import type { AuthorityOrigin } from "../policy/authority.js";
import { mayWiden } from "../policy/authority.js";
import { type Choice, isStated, type PolicyInputs, type PolicyLayer } from "../policy/layers.js";
import type { ConfigFile } from "./config-file.js";

export interface Files {
  readonly userWide: ConfigFile | null;
  readonly project: ConfigFile | null;
  readonly policy: readonly PolicyLayer[] | null;
  /** Who vouches for the project's file: the project alone, unless the user named the file or trusts it. */
  readonly projectBy?: AuthorityOrigin;
}

/** What the files say, under what the flags say. */
export function combine(files: Files, flags: PolicyInputs): PolicyInputs {
  const { project, projectBy = "project-file" } = files;
  const all = combined(files, flags);
  if (project === null || mayWiden({ origin: projectBy, name: "" })) return all;
  return { ...all, usual: combined({ ...files, project: null }, flags) };
}

function combined({ userWide, project, policy, projectBy = "project-file" }: Files, flags: PolicyInputs): PolicyInputs {
  const by = <T>(choice: Choice<T> | null | undefined) => choice && { ...choice, by: projectBy };
  const mode = flags.mode ?? namedMode(project, userWide, by);
  const profile = flags.profile ?? by(project?.profile) ?? null;
  const ownProfile = userWide?.profile ?? null;
  return {
    ...flags,
    ...chosenProfile(profile, ownProfile, mode),
    ...(mode ? { mode } : {}),
    userWide: userWide?.layers ?? [],
    project: project?.layers ?? [],
    projectBy,
    policyFile: policy ?? [],
    limits: userWide?.limits ?? [],
    ...(userWide?.profileFloor ? { profileFloor: userWide.profileFloor } : {}),
  };
}

/**
 * A mode that is named anywhere counts before one that a preferred agent stands for. A project that nobody vouches for
 * chooses only where the user has not: what two modes both allow is of use to neither agent.
 */
function namedMode(
  project: ConfigFile | null,
  userWide: ConfigFile | null,
  by: (choice: Choice<CompatibilityMode> | null | undefined) => Choice<CompatibilityMode> | null | undefined,
): Choice<CompatibilityMode> | null {
  const users = userWide?.mode ?? userWide?.preferredMode;
  const projects = by(project?.mode ?? project?.preferredMode);
  if (users && projects?.by !== undefined && !mayWiden({ origin: projects.by, name: "" })) return users;
  return by(project?.mode) ?? userWide?.mode ?? by(project?.preferredMode) ?? userWide?.preferredMode ?? null;
}

/**
 * The user's own profile stands beside a mode that a file chose, and is a mere default under a mode that was named on
 * the command line.
 */
function chosenProfile(
  named: Choice<ProfileName> | null,
  own: Choice<ProfileName> | null,
  mode: Choice<CompatibilityMode> | null,
): Pick<PolicyInputs, "profile" | "baseProfile"> {
  if (named) return { profile: named };
  if (!own) return {};
  return isStated(mode ?? undefined) ? { baseProfile: own } : { profile: own };
}
