/** Every key of a policy file. */
import { workspaceModes } from "../core/policy.js";
import { whyInvalidGlob } from "../policy/glob.js";
import { whyBadGuestPath } from "../policy/mounts.js";
import { parseDurationMs, parseSizeMiB, ranges } from "../policy/resources.js";
import { egress, networkRule, secretBinding } from "./network-shapes.js";
import { choice, flag, list, number, parsedText, text } from "./shapes.js";
import { table } from "./table-shape.js";

export const glob = text({ expected: "a glob such as **/*.pem", why: whyInvalidGlob });
const SIZE = "^[0-9]+(\\.[0-9]+)?[mgtMGT]([iI]?[bB])?$";

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
        shape: table({ size_mb: { shape: number(ranges.tmpMiB), help: "Size of /tmp in MiB." } }),
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
      secrets: { shape: list(secretBinding), help: "Secrets that one host gets and the sandbox never sees." },
    }),
  },
  proc: {
    help: "Processes and their limits.",
    shape: table({
      cpu_quota: { shape: number(ranges.vcpus), help: "Processor cores." },
      mem_limit: {
        shape: parsedText("a size such as 1g", SIZE, (field, size) => parseSizeMiB(field, size, ranges.memoryMiB)),
        help: "Memory, for example 512m or 1g.",
      },
      wall_timeout: {
        shape: parsedText("a time such as 10m", "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", parseDurationMs),
        help: "Time that a command has, for example 30s or 10m.",
      },
      fork_limit: {
        shape: number({ min: 0, max: ranges.pids.max, whole: true }),
        help: "Processes and threads beside the command's first; 0: none.",
      },
      no_root: { shape: flag(), help: "Nothing in the sandbox is its root." },
      output_limit: {
        shape: parsedText("a size such as 16m", SIZE, (field, size) => parseSizeMiB(field, size, ranges.outputMiB)),
        help: "What batch answers keep of a command's output; streams are not cut.",
      },
    }),
  },
});
