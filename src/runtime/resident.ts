/** State that a long-lived process shares among its callers. */
import type { JailStarter } from "../backends/linux/jail-start.js";
import type { Templates } from "../backends/microvm/templates.js";
import type { WasmBackend } from "../backends/wasm/index.js";
import type { HoldingRegistry } from "../core/holding.js";
import type { Meter } from "./meter.js";
import type { WarmPool } from "./pool/index.js";
import type { Sandboxes } from "./sandboxes/index.js";
import type { SharedAudit } from "./shared-audit.js";

export interface Resident {
  readonly jails: JailStarter;
  readonly pool: WarmPool;
  /** Workers for WebAssembly; made when they are first asked for. */
  readonly wasm: () => WasmBackend;
  /** Saved machines; loaded when they are first asked for. */
  readonly templates: () => Promise<Templates>;
  /** For calls of modules. */
  readonly moduleAudit: SharedAudit;
  /** For runs of command lines. */
  readonly runAudit: SharedAudit;
  /** The user's sandboxes that stay. */
  readonly sandboxes: Sandboxes;
  /** Registers work that outlives its call; the process does not end by itself meanwhile. */
  readonly holdings: HoldingRegistry;
  readonly meter?: Meter;
  /** Messages that no caller waits for, for the process's own log. */
  readonly remark: (line: string) => void;
  /** Callers may have their answers before everything is done: settles when it is, for those that have them by now. */
  readonly afterAnswers: () => Promise<unknown>;
}
