/**
 * The backend contract: one suite that every backend passes, for every kind of user that may start it. It speaks to a
 * backend only through src/core/backend.ts, and to what it boots only through the guest session. A backend names what
 * it lacks and why, and those tests are skipped with the reason; the floor (capabilities.ts) cannot be lacking.
 */
import { describe } from "vitest";
import type { Backend, Lack } from "../../../src/core/backend.js";
import type { Actor } from "../../support/actors.js";
import type { OwnerOrder } from "../../support/kept-owner.js";
import { leavesNothingBehind } from "../../support/nothing-left.js";
import { admittedLacks } from "./capabilities.js";
import { Contract } from "./contract.js";
import { copiesContract } from "./copies.js";
import { environmentContract } from "./environment.js";
import { exitStatusContract } from "./exit-status.js";
import { filesContract } from "./files.js";
import { isolationContract } from "./isolation.js";
import { keptContract } from "./kept.js";
import { keptChangesContract } from "./kept-changes.js";
import { keptCopiesContract } from "./kept-copies.js";
import { keptMemoryContract } from "./kept-memory.js";
import { keptNetworkContract } from "./kept-network.js";
import { keptProgramsContract } from "./kept-programs.js";
import { keptProjectContract } from "./kept-project.js";
import { lifecycleContract } from "./lifecycle.js";
import { limitsContract } from "./limits.js";
import { networkContract } from "./network.js";
import { proxyContract } from "./proxy.js";
import { signalsContract } from "./signals.js";
import { stdinContract } from "./stdin.js";
import { streamsContract } from "./streams.js";
import { terminalContract } from "./terminal.js";
import { usersContract } from "./users.js";
import { workspaceContract } from "./workspace.js";

interface BackendUnderTest {
  readonly name: string;
  readonly actor: Actor;
  readonly makeBackend: (actor: Actor) => Backend;
  /** What another process makes the same backend from, where kept sandboxes are to be owned by one. */
  readonly programs?: OwnerOrder["programs"];
  /** Its root is an image's, of which a sandbox can write every part; the host's own programs it cannot. */
  readonly hasImage?: boolean;
  /** Whose process 1 it is that a kept sandbox in this folder has; without it, of a sandbox with a supervisor of ours. */
  readonly guestOf?: (folder: string) => Promise<number>;
  /** What is lacking on this machine or for this actor, on top of what the backend says of itself. */
  readonly lacks?: readonly Lack[];
}

export function describeBackendContract({
  name,
  actor,
  makeBackend,
  programs,
  hasImage = false,
  guestOf,
  lacks = [],
}: BackendUnderTest): void {
  const backend = makeBackend(actor);
  const admitted = admittedLacks(name, [...backend.lacks, ...lacks]);
  const contract = new Contract({ actor, backend, lacks: admitted, programs, hasImage, guestOf });

  describe(`the backend ${name} as ${actor.name}`, () => {
    leavesNothingBehind();

    streamsContract(contract);
    exitStatusContract(contract);
    stdinContract(contract);
    environmentContract(contract);
    usersContract(contract);
    signalsContract(contract);
    terminalContract(contract);
    filesContract(contract);
    copiesContract(contract);
    workspaceContract(contract);
    limitsContract(contract);
    isolationContract(contract);
    networkContract(contract);
    proxyContract(contract);
    lifecycleContract(contract);
    keptContract(contract);
    keptNetworkContract(contract);
    keptProjectContract(contract);
    keptChangesContract(contract);
    keptProgramsContract(contract);
    keptCopiesContract(contract);
    keptMemoryContract(contract);
  });
}
