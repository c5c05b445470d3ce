/**
 * The calls that no sandbox may make, as the engine is told them. They are the lists that the linux backend compiles;
 * the container's first program installs those as well, with what a list of this form cannot say.
 */
import forEvery from "../../../native/jail/seccomp/default.json" with { type: "json" };
import forStrict from "../../../native/jail/seccomp/strict.json" with { type: "json" };
import type { SeccompChoice } from "./container-spec.js";

interface ListedCall {
  readonly syscall: string;
  readonly args?: unknown;
}

const EPERM = 1;
/** What the first program shows folders with. */
const arranging = new Set(["fsconfig", "fsmount", "fsopen", "mount_setattr", "move_mount", "open_tree", "umount2"]);

/** The value of a security option. Pure. */
export function seccompProfile(choice: SeccompChoice): string {
  const lists: readonly (readonly ListedCall[])[] = choice.startsWith("strict")
    ? [forEvery.default.filter, forStrict.default.filter]
    : [forEvery.default.filter];
  // A call that is denied by its arguments is left to the program inside.
  const all = lists.flat().flatMap(({ syscall, args }) => (args === undefined ? [syscall] : []));
  const names = choice.endsWith("-arranged") ? all.filter((name) => !arranging.has(name)) : all;
  return JSON.stringify({
    defaultAction: "SCMP_ACT_ALLOW",
    // Calls of other tables are answered, as the linux backend does it; an engine would kill who makes one.
    archMap: [
      { architecture: "SCMP_ARCH_X86_64", subArchitectures: ["SCMP_ARCH_X86", "SCMP_ARCH_X32"] },
      { architecture: "SCMP_ARCH_AARCH64", subArchitectures: ["SCMP_ARCH_ARM"] },
    ],
    syscalls: [{ names, action: "SCMP_ACT_ERRNO", errnoRet: EPERM }],
  });
}
