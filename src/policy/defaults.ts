/** What holds where nothing else says anything: the lowest layer, with every field in it. */
import { numericDefaults, numericDefaultsOn } from "../settings/index.js";
import type { MachineSize } from "../settings/numeric-setting.js";
import type { FieldValues } from "./fields.js";
import { builtInHideRules } from "./hidden.js";
import { defaultProfile, profiles } from "./profiles.js";
import { builtInProtectGlobs } from "./protected.js";
import { builtInReviewGlobs } from "./review.js";

export const defaultFields: FieldValues = {
  ...profiles[defaultProfile],
  "fs.mounts": [],
  "fs.deny": builtInHideRules,
  "fs.show": [],
  "fs.protect": builtInProtectGlobs,
  "fs.review": builtInReviewGlobs,
  "net.allow": [],
  "net.deny": [],
  "net.secrets": [],
  "proc.user": null,
  "proc.env": {},
  "proc.commands.allow": null,
  "proc.commands.deny": [],
  ...numericDefaults,
};

/** The same on a machine of this size, which some limits are a share of. */
export function defaultFieldsOn(machine: MachineSize): FieldValues {
  return { ...defaultFields, ...numericDefaultsOn(machine) };
}
