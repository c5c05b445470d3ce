/** Tracks the sandboxes that need the daemon: it stays for them, and releases them when another takes its place. */
import type { HoldingRegistry } from "../core/holding.js";
import type { Sandboxes } from "../runtime/sandboxes/index.js";

export function holdOwned(sandboxes: Sandboxes, holdings: HoldingRegistry): void {
  const held = new Map<string, () => void>();
  const look = () => {
    const owned = new Map(sandboxes.owned().map((sandbox) => [sandbox.id, sandbox]));
    for (const [id, takeBack] of held) {
      if (owned.has(id)) continue;
      held.delete(id);
      takeBack();
    }
    for (const [id, sandbox] of owned) {
      if (held.has(id)) continue;
      const what = `sandbox ${sandbox.name}`;
      held.set(id, holdings.add({ what, release: () => sandbox.release(), end: () => sandbox.kill() }));
    }
  };
  sandboxes.onEvent(look);
  look();
}
