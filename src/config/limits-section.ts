/** `[limits]` of the user-wide file: the ceiling. Its keys are read into limits of the fields that they speak of. */
import type { PolicyFields } from "../policy/fields.js";
import { alwaysDenied, atMostFields, type Limit, onlyWithin, onlyWorkspaceModes } from "../policy/limits.js";
import { profiles } from "../policy/profiles.js";
import { type NumberKey, settableNumbers } from "../settings/index.js";
import type { ConfigValue, OriginOf } from "./config-shape.js";

type LimitsValue = NonNullable<ConfigValue["limits"]>;

export function limitsOf(limits: LimitsValue, originOf: OriginOf): readonly Limit[] {
  const found: Limit[] = [];
  const atMostHere = (key: string, fields: PolicyFields) =>
    found.push(...atMostFields(fields, `the limit in ${originOf(`limits.${key}`)}`));
  for (const { path, setting } of settableNumbers) {
    const most = limits[setting.key as NumberKey];
    if (most !== undefined) atMostHere(setting.key, { [path]: most });
  }
  if (limits.network !== undefined) atMostHere("network", { "net.egress": limits.network });
  if (limits.workspace) {
    found.push(onlyWorkspaceModes(limits.workspace, `the limit in ${originOf("limits.workspace")}`));
  }
  const { allow, deny } = limits.domains ?? {};
  if (allow) found.push(onlyWithin(allow, `the limit in ${originOf("limits.domains.allow")}`));
  if (deny) found.push(alwaysDenied(deny, `the limit in ${originOf("limits.domains.deny")}`));
  return [...found, ...profileLimits(limits, found, originOf)];
}

/** A profile is a limit for each field that it sets, where no key of its own says how far that field may go. */
function profileLimits(limits: LimitsValue, stated: readonly Limit[], originOf: OriginOf): readonly Limit[] {
  if (limits.profile === undefined) return [];
  const fields = new Set(stated.map(({ field }) => field));
  const ofProfile = atMostFields(profiles[limits.profile], `the limit in ${originOf("limits.profile")}`);
  return ofProfile.filter(({ field }) => !fields.has(field));
}
