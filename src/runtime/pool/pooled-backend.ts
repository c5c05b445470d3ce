/** A backend whose sandboxes are there before they are asked for, where one of the right shape is. */
import type { Backend, BootedSandbox } from "../../core/backend.js";
import type { ShapeUser, WarmPool } from "./index.js";

export function pooledBackend(backend: Backend, pool: WarmPool): Backend {
  return {
    ...backend,
    async boot(spec, signal, onStream) {
      const shape = backend.shapeOf?.(spec) ?? null;
      if (shape === null) return outlasted(pool, await backend.boot(spec, signal, onStream));
      const user = pool.use(shape, spec.policy.mode);
      try {
        const warm = await takeWarm(user, [spec, signal, onStream]);
        user.has(warm === null ? "missed" : "taken", spec.projectDir);
        const booted = outlasted(pool, warm ?? (await backend.boot(spec, signal, onStream)));
        booted.ended.then(user.over, user.over);
        return booted;
      } catch (error) {
        user.over();
        throw error;
      }
    },
  };
}

/** What its engine goes on removing behind its end is waited for by whoever closes the pool. */
function outlasted(pool: WarmPool, booted: BootedSandbox): BootedSandbox {
  const { ended, removed } = booted;
  const over = () => {
    if (removed !== undefined) pool.outlast(removed);
  };
  ended.then(over, over);
  return booted;
}

async function takeWarm(user: ShapeUser, boot: Parameters<Backend["boot"]>): Promise<BootedSandbox | null> {
  const [, signal] = boot;
  for (let warm = await user.next(); warm !== null; warm = await user.next()) {
    if (signal?.aborted) user.discard(warm);
    signal?.throwIfAborted();
    try {
      return { ...(await warm.take(...boot)), isWarm: true };
    } catch {
      // It may have died, or be out of date. One that is built now tells why, where the reason lies with the caller.
      signal?.throwIfAborted();
    }
  }
  return null;
}
