/** The three profiles, as the fields they set. */
import type { ProfileName } from "../core/policy.js";
import type { PolicyFields } from "./fields.js";

/** The fields that say how a process may act; `codex` takes restrictive's. */
const openProcess = {
  "fs.rootReadonly": false,
  "proc.noRoot": false,
  "proc.capabilities": "default",
  "proc.seccomp": "default",
  "proc.landlock": "default",
} as const satisfies PolicyFields;

export const strictProcess = {
  "fs.rootReadonly": true,
  "proc.noRoot": true,
  "proc.capabilities": "none",
  "proc.seccomp": "strict",
  "proc.landlock": "workspace",
} as const satisfies PolicyFields;

export const defaultProfile: ProfileName = "moderate";

export const profiles = {
  permissive: {
    ...openProcess,
    "net.egress": "on",
    "fs.workspace.mode": "mount",
    "fs.workspace.readonly": false,
    "fs.home": "readonly",
    "proc.passHostEnv": true,
  },
  moderate: {
    ...openProcess,
    "net.egress": "on",
    "fs.workspace.mode": "copy",
    "fs.workspace.readonly": false,
    "fs.home": "none",
    "proc.passHostEnv": false,
  },
  restrictive: {
    ...strictProcess,
    "net.egress": "off",
    "fs.workspace.mode": "copy",
    "fs.workspace.readonly": true,
    "fs.home": "none",
    "proc.passHostEnv": false,
  },
} as const satisfies Record<ProfileName, PolicyFields>;
