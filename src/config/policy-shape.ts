/** Every key of a policy file. */
import { workspaceModes } from "../core/policy.js";
import { whyInvalidGlob } from "../policy/glob.js";
import { whyBadGuestPath } from "../policy/mounts.js";
import { egress, networkRule, secretBinding } from "./network-shapes.js";
import { policyFileEntries } from "./number-entries.js";
import { choice, flag, list, number, text } from "./shapes.js";
import { table } from "./table-shape.js";

export const glob = text({ expected: "a glob such as **/*.pem", why: whyInvalidGlob });

const workspace = table({
  mode: { shape: choice(workspaceModes), help: "The project as /workspace." },
  readonly: { shape: flag(), help: "The project cannot be changed inside either." },
});

const mount = table({
  host: {
    shape: text({ expected: "a path", why: whyNotHostPath }),
    help: "A file or folder of the host; a relative path starts at this file's folder.",
    required: true,
  },
  guest: {
    shape: text({ expected: "a path inside the sandbox such as /deps", why: whyBadGuestPath }),
    help: "Where it appears, as an absolute path.",
    required: true,
  },
  readonly: { shape: flag(), help: "It cannot be changed through the sandbox (true)." },
});

function whyNotHostPath(path: string): string | null {
  if (path === "") return "it is empty";
  if (path.includes("\0")) return "it has a NUL character";
  return path.startsWith("~") ? "~ is a shell's word; write the folder out" : null;
}

export const policyShape = table({
  $schema: { shape: text({ expected: "the address of a JSON Schema" }), help: "For editors; not used otherwise." },
  version: { shape: number({ min: 1, max: 1, whole: true }), help: "Of this format: 1.", required: true },
  fs: {
    help: "What the sandbox sees of the host's files.",
    shape: table({
      workspace: { shape: workspace, help: "The project." },
      mounts: { shape: list(mount), help: "Files and folders beside the project." },
      tmp: {
        shape: table(policyFileEntries("fs.tmp")),
        help: "Temporary files.",
      },
      deny: { shape: list(glob), help: "Hidden files, beside the built-in list." },
      protect: { shape: list(glob), help: "Files that stay as they are where all around them can be changed." },
    }),
  },
  net: {
    help: "What can be reached. Without it: nothing.",
    shape: table({
      egress: { shape: egress, help: "false: nothing; true: every public address; allowlist: what allow names." },
      allow: { shape: list(networkRule), help: "What an allowlist has; an empty one allows nothing." },
      deny: { shape: list(networkRule), help: "What is never reached; it wins over allow." },
      ...policyFileEntries("net"),
      secrets: { shape: list(secretBinding), help: "Secrets that one host gets and the sandbox never sees." },
    }),
  },
  proc: {
    help: "Processes and their limits.",
    shape: table({
      ...policyFileEntries("proc"),
      no_root: { shape: flag(), help: "Nothing in the sandbox is its root." },
    }),
  },
});
