/** Sandboxes whose process 1 is not our guest but a program that breaks the protocol on demand. */
import { chmodSync, copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import type { BootSpec } from "../../../src/core/backend.js";
import type { GuestExec } from "../../../src/guest/index.js";
import { resolve } from "../../../src/policy/resolve.js";
import { TemporarySandbox, temporaryId } from "../../../src/runtime/temporary-sandbox.js";
import type { Actor } from "../../support/actors.js";
import { backendOf } from "../../support/backend-of.js";
import { compile } from "./process-programs.js";

/** What it does: see the program itself. */
type Verb = "play" | "drip" | "flood" | "deaf" | "opens" | "cut" | "die" | "silent";
type Frames = readonly Buffer[];
export type Order = Parameters<typeof orderWords>;

function spec(): BootSpec {
  const id = temporaryId();
  const { policy } = resolve({
    flags: [{ origin: "the test", fields: { "fs.workspace.mode": "none", "net.egress": "off" } }],
  });
  return { id, hostname: id, policy, image: { kind: "host" }, projectDir: null, homeDir: null };
}

export function honestSandbox(actor: Actor): Promise<TemporarySandbox> {
  return TemporarySandbox.start(backendOf(actor), spec());
}

export function hostileSandbox(actor: Actor): Promise<TemporarySandbox> {
  return TemporarySandbox.start(backendOf(actor, compile("protocol/hostile-guest")), spec());
}

/** One exec whose words are orders to the hostile guest. */
export function order(sandbox: TemporarySandbox, ...words: Order): Promise<GuestExec> {
  return sandbox.exec({ argv: orderWords(...words), cwd: "/", env: {}, stdin: true });
}

export function orderWords(verb: Verb, once: Frames = [], again: Frames = []): readonly string[] {
  return [verb, Buffer.concat(once).toString("hex"), Buffer.concat(again).toString("hex")];
}

const hostileActors = new Map<Actor, Actor>();

/** The actor with a build of the command line whose guest is the hostile one. */
export function withHostileGuest(actor: Actor): Actor {
  const known = hostileActors.get(actor);
  if (known !== undefined) return known;
  const folder = actor.folder("hostile");
  // Whoever starts the guest in a sandbox may have other ids than the actor.
  chmodSync(folder, 0o755);
  const dist = join(folder, "dist");
  cpSync(actor.dist, dist, { recursive: true });
  const guest = join(dist, "native", "ak-guest");
  copyFileSync(compile("protocol/hostile-guest"), guest);
  chmodSync(guest, 0o755);
  const hostile = { ...actor, dist };
  hostileActors.set(actor, hostile);
  return hostile;
}
