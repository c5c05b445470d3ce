/** What holds where nothing else says anything: the lowest layer, with every field in it. */
import type { FieldValues } from "./fields.js";
import { builtInHideRules } from "./hidden.js";
import { defaultProfile, profiles } from "./profiles.js";
import { builtInProtectGlobs } from "./protected.js";
import { builtInReviewGlobs } from "./review.js";

export const defaultFields: FieldValues = {
  ...profiles[defaultProfile],
  "fs.mounts": [],
  "fs.tmpMiB": 256,
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
  "resources.vcpus": 2,
  "resources.memoryMiB": 1024,
  "resources.pids": 512,
  "resources.diskMiB": 4096,
  "resources.openFiles": 4096,
  "resources.timeoutMs": null,
  "resources.outputMiB": 16,
};
