/**
 * The linux backend: namespaces, built by `ak-jail` from one spec. This folder turns a policy into that spec and
 * watches the jail; it never makes a system call of its own and decides nothing that the policy has decided.
 */
import type { Backend, BootedSandbox, Lack } from "../../core/backend.js";
import { type JailPrograms, startJail } from "./jail-process.js";
import { bootText, specBasis } from "./jail-spec.js";
import { persistentJails } from "./persistent/index.js";
import { warmShape } from "./warm-jail.js";

export const linuxLacks: readonly Lack[] = [];

export function linuxBackend(programs: JailPrograms): Backend {
  return {
    name: "linux",
    lacks: linuxLacks,
    tellsHidden: true,
    async boot(spec, signal, onStream): Promise<BootedSandbox> {
      return await startJail(programs, bootText(spec, programs), signal, onStream);
    },
    kept: persistentJails(programs),
    shapeOf: (spec) => warmShape(programs, specBasis(spec, programs)),
  };
}
