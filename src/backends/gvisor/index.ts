/**
 * The gvisor backend: the linux backend's jail, in which the guest runs on gVisor's kernel (`runsc`) instead of the
 * host's. Walls, views, limits and clean-up are the jail's. This folder finds out how gVisor works on this machine and
 * says what is lacking on its kernel; it starts nothing of its own but a proof.
 */
import type { Backend, BootSpec, Lack } from "../../core/backend.js";
import { linuxBackend } from "../linux/index.js";
import type { JailPrograms } from "../linux/jail-process.js";
import type { JailRuntime } from "../linux/jail-spec.js";

export const gvisorLacks: readonly Lack[] = [
  {
    capability: "limit-memory-of-a-process",
    reason: "gVisor's kernel has the memory of all processes: who takes more than the limit ends the whole sandbox",
  },
  {
    capability: "terminal-keys",
    reason: "gVisor's terminals take Ctrl-C and Ctrl-D for letters: they neither interrupt nor end the input",
  },
  { capability: "controlling-terminal-by-name", reason: "gVisor's /dev/tty cannot be opened" },
  { capability: "project-path", reason: "gVisor's own /tmp covers projects below /tmp; others are at their own path" },
  { capability: "pipes-on-disk", reason: "gVisor keeps pipes that are made in a folder to itself" },
  {
    capability: "network",
    reason: "gVisor's network cannot redirect connections: only programs that use HTTP_PROXY reach the network",
  },
];

export function gvisorBackend(programs: JailPrograms, gvisor: JailRuntime): Backend {
  const { boot, kept, shapeOf } = linuxBackend({ ...programs, gvisor });
  return {
    name: "gvisor",
    lacks: gvisorLacks,
    tellsHidden: true,
    boot,
    ...(kept === undefined ? {} : { kept }),
    shapeOf: (spec) => (canWait(spec) ? (shapeOf?.(spec) ?? null) : null),
  };
}

/** gVisor's root is as it was when it started: only a folder that is there for every caller can be filled later. */
function canWait({ policy: { fs } }: BootSpec): boolean {
  return !fs.rootReadonly && fs.home === "none" && fs.mounts.length === 0;
}
