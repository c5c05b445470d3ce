/**
 * Sandboxes in the virtual machines of Apple's `container` (macOS 26 and later, Apple silicon). This folder turns a
 * policy into the words of that program and speaks to the guest over its standard streams. Written from the published
 * command reference and not yet run on a Mac. It never touches a container without our labels, never gives one a
 * network, and never shows one a folder of the user's.
 */
import type { Backend, Lack } from "../../core/backend.js";
import { ContainerCli } from "./cli.js";
import { findAppleImage } from "./images.js";
import { sweepOrphans } from "./owners.js";
import { bootContainer } from "./run-container.js";

interface AppleOptions {
  /** Apple's program. */
  readonly program: string;
  /** A folder that has `ak-entry` and `ak-guest` for Linux on arm64, and nothing else. */
  readonly guestFolder: string;
  /** In the state directory that its sandboxes work for. */
  readonly folder: string;
}

export const appleLacks: readonly Lack[] = [
  { capability: "snapshot", reason: "Apple's container cannot save processes" },
  { capability: "kept", reason: "named sandboxes are not built on this backend yet" },
  { capability: "pause", reason: "only sandboxes that stay can be paused, and this backend has none yet" },
  { capability: "workspace-sync", reason: "nobody tells what a sandbox changed in the project" },
  { capability: "workspace-mount", reason: "a mount would show the files that the policy hides" },
  { capability: "home", reason: "a home folder cannot be shown without the secrets in it" },
  { capability: "limit-disk", reason: "a container's disk has no quota, and a tmpfs no size of its own" },
  { capability: "limit-processes", reason: "processes are counted by user, and those of root not at all" },
  { capability: "limit-cpu", reason: "a machine has whole processors: parts of one are rounded up" },
];

export function appleBackend({ program, ...folders }: AppleOptions): Backend {
  const cli = new ContainerCli(program);
  let isSwept = false;
  return {
    name: "apple",
    lacks: appleLacks,
    allotsMemory: true,
    async boot(spec, signal) {
      const booted = await bootContainer(cli, folders, spec, signal);
      // Beside the run: what others left does not keep this one waiting. The next one tries again where it fails.
      if (!isSwept) {
        isSwept = true;
        sweepOrphans(cli).catch(() => {
          isSwept = false;
        });
      }
      return booted;
    },
    findImage: (request) => findAppleImage(cli, request),
  };
}
