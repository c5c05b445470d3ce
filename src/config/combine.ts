/** Which of several files and flags chooses profile, mode, image and backend, and where each one's layers go. */
import type { CompatibilityMode, ProfileName } from "../core/policy.js";
import { type Choice, isFlag, type PolicyInputs, type PolicyLayer } from "../policy/layers.js";
import type { ConfigFile } from "./config-file.js";

export interface Files {
  readonly userWide: ConfigFile | null;
  readonly project: ConfigFile | null;
  readonly policy: readonly PolicyLayer[] | null;
}

/** What the files say, under what the flags say. */
export function combine({ userWide, project, policy }: Files, flags: PolicyInputs): PolicyInputs {
  const mode = flags.mode ?? namedMode(project, userWide);
  const profile = flags.profile ?? project?.profile ?? null;
  const ownProfile = userWide?.profile ?? null;
  return {
    ...flags,
    ...chosenProfile(profile, ownProfile, mode),
    ...(mode ? { mode } : {}),
    userWide: userWide?.layers ?? [],
    project: project?.layers ?? [],
    policyFile: policy ?? [],
    limits: userWide?.limits ?? [],
    ...(userWide?.profileFloor ? { profileFloor: userWide.profileFloor } : {}),
  };
}

/** A mode that is named anywhere counts before one that a preferred agent stands for. */
function namedMode(project: ConfigFile | null, userWide: ConfigFile | null): Choice<CompatibilityMode> | null {
  return project?.mode ?? userWide?.mode ?? project?.preferredMode ?? userWide?.preferredMode ?? null;
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
  return isFlag(mode?.origin) ? { baseProfile: own } : { profile: own };
}
