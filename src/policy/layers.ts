/** The inputs of a policy and the order in which they count: each layer yields to the ones after it. */
import { type CompatibilityMode, compatibilityModes, type ProfileName, profileNames } from "../core/policy.js";
import { defaultFields } from "./defaults.js";
import { type FieldPath, isFieldPath, type PolicyFields } from "./fields.js";
import { modes } from "./modes.js";
import { type NetworkChoice, stricterNetwork } from "./network-rules.js";
import { profiles } from "./profiles.js";

/** `origin` names the input for people: a flag, a file, a mode or a profile. */
export interface PolicyLayer {
  readonly origin: string;
  readonly fields: PolicyFields;
}

export interface Choice<T> {
  readonly name: T;
  readonly origin: string;
}

export interface PolicyInputs {
  readonly profile?: Choice<ProfileName>;
  readonly mode?: Choice<CompatibilityMode>;
  readonly userWide?: readonly PolicyLayer[];
  readonly project?: readonly PolicyLayer[];
  readonly policyFile?: readonly PolicyLayer[];
  readonly flags?: readonly PolicyLayer[];
}

/** Lowest first: defaults, user-wide, profile, mode, project, policy file, flags. */
export function orderLayers(inputs: PolicyInputs): readonly PolicyLayer[] {
  return [
    { origin: "default", fields: defaultFields },
    ...(inputs.userWide ?? []),
    ...profileAndMode(inputs.profile?.name, inputs.mode?.name),
    ...(inputs.project ?? []),
    ...(inputs.policyFile ?? []),
    ...(inputs.flags ?? []),
  ];
}

/**
 * A profile named beside a mode replaces the mode's process, filesystem and environment fields, and of their two
 * networks the stricter holds. A profile that nobody named is only a default, and yields to the mode.
 */
function profileAndMode(profile: ProfileName | undefined, mode: CompatibilityMode | undefined): PolicyLayer[] {
  const profileLayer = profile && { origin: `profile ${profile}`, fields: profiles[profile] };
  const modeLayer = mode && { origin: `mode ${mode}`, fields: modes[mode] };
  if (!profileLayer || !modeLayer) return [profileLayer, modeLayer].filter((layer) => layer !== undefined);
  const ofProfile = networkOf(profileLayer);
  const ofMode = networkOf(modeLayer);
  if (!ofProfile || !ofMode) return [profileLayer];
  const { origin, egress, allow } = stricterNetwork(ofMode, ofProfile);
  return [
    { origin: profileLayer.origin, fields: withoutNetwork(profileLayer.fields) },
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
