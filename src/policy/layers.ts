/** The inputs of a policy and the order in which they count: each layer yields to the ones after it. */
import type { CompatibilityMode, NetworkRule, ProfileName } from "../core/policy.js";
import type { MachineSize } from "../settings/numeric-setting.js";
import { type Authority, type AuthorityOrigin, mayWiden } from "./authority.js";
import { defaultFields, defaultFieldsOn } from "./defaults.js";
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

/** A layer and the party that it speaks for. */
export interface AuthorizedLayer extends PolicyLayer {
  readonly authority: Authority;
}

export interface Choice<T> {
  readonly name: T;
  readonly origin: string;
  /** Without it: the user's own file. */
  readonly by?: AuthorityOrigin;
}

export interface PolicyInputs {
  /** The machine that the sandbox is on; without it, defaults are those of a small one. */
  readonly machine?: MachineSize;
  readonly profile?: Choice<ProfileName>;
  /** A profile that only fills in below everything else, and that any mode replaces. */
  readonly baseProfile?: Choice<ProfileName>;
  readonly mode?: Choice<CompatibilityMode>;
  readonly userWide?: readonly PolicyLayer[];
  readonly project?: readonly PolicyLayer[];
  /** Who vouches for the project's layers: the project alone, unless the user named the file or trusts it. */
  readonly projectBy?: AuthorityOrigin;
  readonly policyFile?: readonly PolicyLayer[];
  readonly flags?: readonly PolicyLayer[];
  /** What nothing goes beyond: the user's ceiling. */
  readonly limits?: readonly Limit[];
  readonly profileFloor?: ProfileFloor;
  /** What the preset `mcp-servers` stands for; without it the preset stays as it is. */
  readonly mcpServers?: readonly NetworkRule[];
  /** Who vouches for these: the project alone, unless the user trusts them. */
  readonly mcpServersBy?: AuthorityOrigin;
  /**
   * The same without what other parties than the user bring, which never goes beyond it. Without it: these inputs
   * without layers and choices of other parties.
   */
  readonly usual?: Omit<PolicyInputs, "usual">;
}

/** Lowest first: defaults, user-wide, profile, mode, project, policy file, flags. */
export function orderLayers(inputs: PolicyInputs): readonly AuthorizedLayer[] {
  const { baseProfile, machine } = inputs;
  const defaults = machine === undefined ? defaultFields : defaultFieldsOn(machine);
  const chosen = profileAndMode(inputs.profile, inputs.mode);
  const held = heldByFlags(inputs, chosen);
  return [
    ...authorized("default", [{ origin: "default", fields: defaults }]),
    ...(baseProfile ? [chosenLayer("profile", baseProfile, profiles[baseProfile.name])] : []),
    ...authorized("user-file", inputs.userWide),
    ...chosen,
    ...authorized(inputs.projectBy ?? "project-file", inputs.project).map((layer) => ({ ...layer, limits: held })),
    ...authorized("named-file", inputs.policyFile),
    ...authorized("flag", inputs.flags),
  ];
}

function authorized(by: AuthorityOrigin, layers: readonly PolicyLayer[] = []): readonly AuthorizedLayer[] {
  return layers.map((layer) => ({ ...layer, authority: { origin: by, name: layer.origin } }));
}

/** The layer of a profile or mode speaks for the party that named it. */
function chosenLayer(kind: "profile" | "mode", choice: Choice<string>, fields: PolicyFields): AuthorizedLayer {
  const origin = `${kind} ${choice.name}`;
  return { origin, fields, authority: { origin: authorityOf(choice), name: origin, namedIn: choice.origin } };
}

/** What the user alone asks for; null where nobody else asks for anything. */
export function usualInputs(inputs: PolicyInputs): Omit<PolicyInputs, "usual"> | null {
  const usual = inputs.usual ?? withoutOthers(inputs);
  const { mcpServers, mcpServersBy = "project-file" } = inputs;
  if (mcpServers === undefined || isUsers(mcpServersBy)) return usual;
  return { ...(usual ?? inputs), mcpServers: [] };
}

function withoutOthers(inputs: Omit<PolicyInputs, "usual">): Omit<PolicyInputs, "usual"> | null {
  const { profile, baseProfile, mode, project = [], projectBy = "project-file", ...rest } = inputs;
  const isOfUser = (choice: Choice<unknown>) => isUsers(authorityOf(choice));
  const areLayersOfUser = project.length === 0 || isUsers(projectBy);
  const choices = [profile, baseProfile, mode].filter((choice) => choice !== undefined);
  if (areLayersOfUser && choices.every(isOfUser)) return null;
  return {
    ...rest,
    ...(profile && isOfUser(profile) ? { profile } : {}),
    ...(baseProfile && isOfUser(baseProfile) ? { baseProfile } : {}),
    ...(mode && isOfUser(mode) ? { mode } : {}),
    ...(areLayersOfUser ? { project, projectBy } : {}),
  };
}

function isUsers(origin: AuthorityOrigin): boolean {
  return mayWiden({ origin, name: "" });
}

function authorityOf({ by }: Choice<unknown>): AuthorityOrigin {
  return by ?? "user-file";
}

/** The caller's own request names it: an option of the command line, a field of a body. */
export function isStated(choice: Choice<unknown> | undefined): boolean {
  return choice !== undefined && authorityOf(choice) === "flag";
}

/** A profile or mode that the user named on the command line cannot be loosened by a file that a project brings. */
function heldByFlags({ profile, mode }: PolicyInputs, chosen: readonly AuthorizedLayer[]): readonly Limit[] {
  if (isStated(profile)) {
    return chosen.flatMap(({ origin, fields }) => atMostFields(fields, origin));
  }
  return mode && isStated(mode) ? atMostFields(modes[mode.name], `mode ${mode.name}`) : [];
}

/**
 * A profile named beside a mode replaces the mode's process, filesystem and environment fields, and of their two
 * networks the stricter holds. A profile that nobody named is only a default, and yields to the mode.
 */
function profileAndMode(
  profile: Choice<ProfileName> | undefined,
  mode: Choice<CompatibilityMode> | undefined,
): AuthorizedLayer[] {
  const profileLayer = profile && chosenLayer("profile", profile, profiles[profile.name]);
  const modeLayer = mode && chosenLayer("mode", mode, modes[mode.name]);
  if (!profileLayer || !modeLayer) return [profileLayer, modeLayer].filter((layer) => layer !== undefined);
  const ofProfile = networkOf(profileLayer);
  const ofMode = networkOf(modeLayer);
  if (!ofProfile || !ofMode) return [profileLayer];
  const { origin, egress, allow } = stricterNetwork(ofMode, ofProfile);
  // The mode is the user's own word and the profile a project's: it may be stricter than the mode, and not looser.
  const isHeld = isStated(mode) && !isStated(profile);
  return [
    ...(isHeld ? [{ ...modeLayer, fields: withoutNetwork(modeLayer.fields) }] : []),
    {
      ...profileLayer,
      fields: withoutNetwork(profileLayer.fields),
      ...(isHeld ? { limits: atMostFields(modeLayer.fields, modeLayer.origin) } : {}),
    },
    {
      origin,
      fields: { "net.egress": egress, "net.allow": allow },
      authority: (origin === ofMode.origin ? modeLayer : profileLayer).authority,
    },
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
