/** Jails that are built before anybody asks for them, and get the rest of their spec when somebody does. */
import { Buffer } from "node:buffer";
import { statSync } from "node:fs";
import type { WarmSandbox, WarmShape } from "../../core/backend.js";
import { takeOnce } from "../../core/take-once.js";
import { bootIn, Jail, type JailPrograms } from "./jail-process.js";
import { type JailSpec, type SpecBasis, takeText } from "./jail-spec.js";
import { spawnJail } from "./jail-start.js";

const knownShapes = new WeakMap<SpecBasis, WarmShape>();

/** Null where a layer of the image is not there: whoever boots is told why. A disk is made for the one who asked for it. */
export function warmShape(programs: JailPrograms, spec: SpecBasis): WarmShape | null {
  const known = knownShapes.get(spec);
  if (known !== undefined) return known;
  const root = rootKey(spec.root);
  if (root === null || spec.diskMib !== undefined) return null;
  let line: Buffer | null = null;
  const shape: WarmShape = {
    key: JSON.stringify([root, fixedParts(spec)]),
    label: labelOf(spec),
    build: (signal) => {
      line ??= Buffer.from(`${JSON.stringify(withoutCaller(spec))}\n`);
      return buildWarm(programs, { basis: spec, line }, signal);
    },
  };
  // Layers may be other ones the next time, under the same names.
  if (spec.root.kind === "host") knownShapes.set(spec, shape);
  return shape;
}

/** What cannot be changed any more when a jail is built; the jail holds the two specs against each other by the same list. */
function fixedParts(spec: SpecBasis): object {
  const { guest, ids, user, rootReadonly, views, capabilities, seccomp, landlockWritable, network, gvisor } = spec;
  const forms = views.map(({ source: _, ...form }) => form);
  const tmpMib = rootReadonly || gvisor !== undefined ? spec.tmpMib : null;
  const limits = gvisor === undefined ? null : spec.limits;
  const walls = { capabilities, seccomp, landlockWritable, network, gvisor, limits };
  return { guest, ids, user, rootReadonly, tmpMib, forms, ...walls };
}

/** A layer that was removed and unpacked again has its old name, and is not what a jail shows that was built before. */
function rootKey(root: JailSpec["root"]): string | null {
  if (root.kind === "host") return JSON.stringify(root);
  const found = root.layers.map((layer) => {
    const stat = statSync(layer, { throwIfNoEntry: false });
    return stat === undefined ? null : `${layer}:${stat.dev}:${stat.ino}`;
  });
  return found.includes(null) ? null : found.join("\n");
}

/** Nothing of the caller's whose spec it was but the rules, which the next one's mostly are too: not the folders. */
function withoutCaller(spec: SpecBasis): JailSpec {
  return {
    ...spec,
    hostname: "warm",
    views: spec.views.map((view) => ({ ...view, source: "/" })),
    trustedCertificate: null,
    warm: true,
  };
}

function labelOf({ root, user, views, network, rootReadonly, gvisor }: SpecBasis): string {
  const image = root.kind === "host" ? "host" : `image of ${root.layers.length} layers`;
  const project = views.find(({ target }) => target === "/workspace");
  const mounts = views.length - (project ? 1 : 0);
  return [
    ...(gvisor === undefined ? [] : ["gvisor"]),
    image,
    `workspace ${project ? `${project.form}${project.readonly ? " (read-only)" : ""}` : "none"}`,
    `network ${network}`,
    ...(user.uid === 0 ? [] : [`user ${user.uid}`]),
    ...(rootReadonly ? ["read-only root"] : []),
    ...(mounts > 0 ? [`${mounts} more folders`] : []),
  ].join(", ");
}

/** The inputs that a jail is built from, and the spec of them. */
interface Plan {
  readonly basis: SpecBasis;
  readonly line: Buffer;
}

async function buildWarm(programs: JailPrograms, plan: Plan, signal: AbortSignal): Promise<WarmSandbox> {
  signal.throwIfAborted();
  const child = await (programs.starter ? programs.starter.start() : spawnJail(programs.jailBinary));
  const jail = new Jail(child, programs);
  // It ends when its orders do, however far it is.
  const giveUp = () => void jail.kill().catch(() => {});
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  jail.buildFrom(plan.line);
  try {
    await jail.warm;
  } catch (error) {
    jail.stream.destroy();
    await jail.gone;
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  return takeOnce({
    gone: jail.gone,
    take: (spec, taker, onStream) => bootIn(jail, takeText(spec, programs, plan.basis), taker, onStream),
    // The jail recognises such a line by its beginning.
    prescan: (number, folder) => jail.order({ foresee: number, source: folder }),
    discard: () => {
      // It ends when its orders do, and reports nothing then.
      jail.kill().catch(() => {});
      return jail.gone;
    },
  });
}
