/** The inputs of a policy and the order in which they count: each layer yields to the ones after it. */
import {
  type CompatibilityMode,
  compatibilityModes,
  type NetworkRule,
  type ProfileName,
  profileNames,
} from "../core/policy.js";
import { defaultFields } from "./defaults.js";
import { type FieldPath, isFieldPath, type PolicyFields } from "./fields.js";
import { atMostFields, type Limit, type ProfileFloor } from "./limits.js";
import { modes } from "./modes.js";
import { type NetworkChoice, stricterNetwork } from "./network-rules.js";
import { profiles } from "./profiles.js";

/** `origin` names the input for people: a flag, a line of a file, a mode or a profile. */
export interface PolicyLayer {
  readonly origin: string;
  readonly fields: PolicyFields;
  /** Lists that this layer states as a whole, instead of adding to those below it. */
  readonly replaces?: readonly FieldPath[];
  /** What this layer alone cannot go beyond. */
  readonly limits?: readonly Limit[];
}

export interface Choice<T> {
  readonly name: T;
  readonly origin: string;
}

export interface PolicyInputs {
  readonly profile?: Choice<ProfileName>;
  /** A profile that only fills in below everything else, and that any mode replaces. */
  readonly baseProfile?: Choice<ProfileName>;
  readonly mode?: Choice<CompatibilityMode>;
  readonly userWide?: readonly PolicyLayer[];
  readonly project?: readonly PolicyLayer[];
  readonly policyFile?: readonly PolicyLayer[];
  readonly flags?: readonly PolicyLayer[];
  /** What nothing goes beyond: the user's ceiling. */
  readonly limits?: readonly Limit[];
  readonly profileFloor?: ProfileFloor;
  /** What the preset `mcp-servers` stands for; without it the preset stays as it is. */
  readonly mcpServers?: readonly NetworkRule[];
}

/** Lowest first: defaults, user-wide, profile, mode, project, policy file, flags. */
export function orderLayers(inputs: PolicyInputs): readonly PolicyLayer[] {
  const { baseProfile } = inputs;
  const chosen = profileAndMode(inputs.profile, inputs.mode);
  const held = heldByFlags(inputs, chosen);
  return [
    { origin: "default", fields: defaultFields },
    ...(baseProfile ? [{ origin: `profile ${baseProfile.name}`, fields: profiles[baseProfile.name] }] : []),
    ...(inputs.userWide ?? []),
    ...chosen,
    ...(inputs.project ?? []).map((layer) => ({ ...layer, limits: held })),
    ...(inputs.policyFile ?? []),
    ...(inputs.flags ?? []),
  ];
}

export function isFlag(origin: string | undefined): boolean {
  return origin?.startsWith("-") ?? false;
}

/** A profile or mode that the user named on the command line cannot be loosened by a file that a project brings. */
function heldByFlags({ profile, mode }: PolicyInputs, chosen: readonly PolicyLayer[]): readonly Limit[] {
  if (isFlag(profile?.origin)) {
    return chosen.flatMap(({ origin, fields }) => atMostFields(fields, origin));
  }
  return mode && isFlag(mode.origin) ? atMostFields(modes[mode.name], `mode ${mode.name}`) : [];
}

/**
 * A profile named beside a mode replaces the mode's process, filesystem and environment fields, and of their two
 * networks the stricter holds. A profile that nobody named is only a default, and yields to the mode.
 */
function profileAndMode(
  profile: Choice<ProfileName> | undefined,
  mode: Choice<CompatibilityMode> | undefined,
): PolicyLayer[] {
  const profileLayer = profile && { origin: `profile ${profile.name}`, fields: profiles[profile.name] };
  const modeLayer = mode && { origin: `mode ${mode.name}`, fields: modes[mode.name] };
  if (!profileLayer || !modeLayer) return [profileLayer, modeLayer].filter((layer) => layer !== undefined);
  const ofProfile = networkOf(profileLayer);
  const ofMode = networkOf(modeLayer);
  if (!ofProfile || !ofMode) return [profileLayer];
  const { origin, egress, allow } = stricterNetwork(ofMode, ofProfile);
  // The mode is the user's own word and the profile a project's: it may be stricter than the mode, and not looser.
  const isHeld = isFlag(mode?.origin) && !isFlag(profile?.origin);
  return [
    ...(isHeld ? [{ ...modeLayer, fields: withoutNetwork(modeLayer.fields) }] : []),
    {
      origin: profileLayer.origin,
      fields: withoutNetwork(profileLayer.fields),
      ...(isHeld ? { limits: atMostFields(modeLayer.fields, modeLayer.origin) } : {}),
    },
    { origin, fields: { "net.egress": egress, "net.allow": allow } },
  ];
}

function networkOf({ origin, fields }: PolicyLayer): NetworkChoice | undefined {
  const egress = fields["net.egress"];
  return egress && { origin, egress, allow: fields["net.allow"] ?? [] };
}

function withoutNetwork(fields: PolicyFields): PolicyFields {
  const isKept = (key: string): key is FieldPath => isFieldPath(key) && !key.startsWith("net.");
  return Object.fromEntries(Object.entries(fields).filter(([key]) => isKept(key)));
}

export function isProfileName(text: string): text is ProfileName {
  return (profileNames as readonly string[]).includes(text);
}

export function isCompatibilityMode(text: string): text is CompatibilityMode {
  return (compatibilityModes as readonly string[]).includes(text);
}
