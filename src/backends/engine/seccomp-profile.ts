/**
 * The calls that no sandbox may make, as the engine is told them. They are the lists that the linux backend compiles;
 * the container's first program installs those as well, with what a list of this form cannot say.
 */
import forEvery from "../../../native/jail/seccomp/default.json" with { type: "json" };
import forStrict from "../../../native/jail/seccomp/strict.json" with { type: "json" };
import type { Policy } from "../../core/policy.js";

interface ListedCall {
  readonly syscall: string;
  readonly args?: unknown;
}

const EPERM = 1;

/** The value of a security option. Pure. */
export function seccompProfile(choice: Policy["proc"]["seccomp"]): string {
  const lists: readonly (readonly ListedCall[])[] =
    choice === "strict" ? [forEvery.default.filter, forStrict.default.filter] : [forEvery.default.filter];
  // A call that is denied by its arguments is left to the program inside.
  const names = lists.flat().flatMap(({ syscall, args }) => (args === undefined ? [syscall] : []));
  return JSON.stringify({
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [{ names, action: "SCMP_ACT_ERRNO", errnoRet: EPERM }],
  });
}
