/** A sandbox that was built ahead serves once: a pool entry, whatever the backend. */
import type { WarmSandbox } from "./backend.js";
import { deferred } from "./deferred.js";
import { AgentKernelError } from "./errors.js";

/** What differs from backend to backend. */
interface TakeOnceParts {
  /** Settles, either way, when nothing of it is left. */
  readonly gone: Promise<unknown>;
  readonly take: WarmSandbox["take"];
  /** Called only while it has not been taken. */
  readonly prescan?: NonNullable<WarmSandbox["prescan"]>;
  /** Ends what nobody took. */
  readonly discard: () => Promise<unknown>;
}

export function takeOnce({ gone, take, prescan, discard }: TakeOnceParts): WarmSandbox {
  const taken = deferred<void>();
  let isTaken = false;
  const ignore = (): void => {};
  return {
    over: Promise.race([taken.promise, gone.then(ignore, ignore)]),
    async take(spec, signal, onStream) {
      if (isTaken) throw new AgentKernelError("internal", "a warm sandbox was taken twice");
      isTaken = true;
      taken.resolve();
      return await take(spec, signal, onStream);
    },
    ...(prescan === undefined
      ? {}
      : {
          prescan(number, folder) {
            if (!isTaken) prescan(number, folder);
          },
        }),
    async discard() {
      if (isTaken) return;
      isTaken = true;
      await discard();
    },
  };
}
