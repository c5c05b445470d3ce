/** How many sandboxes of each shape are kept warm. Pure. */

export interface WarmLimits {
  readonly min: number;
  readonly max: number;
}

export interface PoolSettings extends WarmLimits {
  /** Agents that have limits of their own; all others share the limits above. */
  readonly agents: ReadonlyMap<string, WarmLimits>;
}

export const defaultPoolSettings: PoolSettings = { min: 3, max: 5, agents: new Map() };

/** What is known of how one shape is used. */
interface ShapeUse {
  readonly agent: string;
  readonly usedAtMs: number;
  /** The most that were in use at once, lately. */
  readonly peakInUse: number;
  /** Somebody calls again as soon as the last answer is there. */
  readonly isHot: boolean;
}

/** A shape that nobody has asked for in this time is not kept any longer. */
export const FORGET_AFTER_MS = 30 * 60 * 1000;
/** What one takes at most beside what its processes show: namespaces, mounts, a network of its own. */
const BYTES_OF_ONE = 4 << 20;
/** Of what the machine has left, warm sandboxes take no more than this part. */
const PART_OF_FREE = 1 / 8;

export function sameSettings(a: PoolSettings, b: PoolSettings): boolean {
  const text = ({ min, max, agents }: PoolSettings) => JSON.stringify([min, max, [...agents].sort()]);
  return text(a) === text(b);
}

/** How many there may be in all. */
export function ceiling(freeBytes: number): number {
  return Math.floor((freeBytes * PART_OF_FREE) / BYTES_OF_ONE);
}

function idealCount({ isHot, peakInUse }: ShapeUse, { min, max }: WarmLimits): number {
  return isHot ? max : Math.max(min, peakInUse);
}

/**
 * How many of each are wanted. Of those who share limits, the shape that was used last has the minimum, or as many as
 * were in use at once, or all where it is asked for again and again; what is left of the maximum goes to the shapes before it, one each.
 */
export function wantedCounts<T extends ShapeUse>(
  shapes: Iterable<T>,
  settings: PoolSettings,
  nowMs: number,
): Map<T, number> {
  const wanted = new Map<T, number>();
  const left = new Map<string, number>();
  for (const shape of [...shapes].sort((a, b) => b.usedAtMs - a.usedAtMs)) {
    const limits = settings.agents.get(shape.agent) ?? settings;
    const group = settings.agents.has(shape.agent) ? shape.agent : "";
    const isFirst = !left.has(group);
    const room = left.get(group) ?? limits.max;
    const isForgotten = nowMs - shape.usedAtMs > FORGET_AFTER_MS;
    const ideal = isForgotten ? 0 : isFirst ? idealCount(shape, limits) : 1;
    const count = Math.min(room, ideal);
    wanted.set(shape, count);
    left.set(group, room - count);
  }
  return wanted;
}
