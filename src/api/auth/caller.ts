/** Whoever asks, as far as the API is concerned: what they may do, and whose sandboxes are theirs. */
import { AgentKernelError } from "../../core/errors.js";
import type { Scope } from "../operations/operation.js";
import type { KeyCeiling } from "./key-ceiling.js";

export interface Quotas {
  /** Commands at once; null: only the server's own limit holds. */
  readonly concurrency: number | null;
  readonly requestsPerMinute: number | null;
  /** Processor time that ended commands may have used within an hour. */
  readonly cpuSecondsPerHour: number | null;
  /** At once. */
  readonly sandboxes: number | null;
}

export const noQuotas: Quotas = {
  concurrency: null,
  requestsPerMinute: null,
  cpuSecondsPerHour: null,
  sandboxes: null,
};

export interface Caller {
  /** Stable: `local`, `key:…` or `jwt:…`. What a sandbox is owned by, save for the user's own. */
  readonly id: string;
  readonly scopes: readonly Scope[];
  /** The user of this machine, or somebody that they trust like themselves: may name folders of the host. */
  readonly isTrusted: boolean;
  /** Only these sandboxes, whoever made them; null: those that are theirs. */
  readonly sandboxes: readonly string[] | null;
  readonly quotas: Quotas;
  /** The most that a request may ask for. Null for the user; of others it is the small one then. */
  readonly ceiling: KeyCeiling | null;
  /** Of a token: when it runs out. A key's record says it for keys. */
  readonly validUntilMs?: number;
}

/** The user that this process belongs to, on this machine. */
export const localUser: Caller = {
  id: "local",
  scopes: ["admin"],
  isTrusted: true,
  sandboxes: null,
  quotas: noQuotas,
  ceiling: null,
};

export function isAdmin({ scopes }: Caller): boolean {
  return scopes.includes("admin");
}

/** Who a sandbox of theirs belongs to; null is the user of the machine, whose sandboxes the command line makes too. */
export function ownerOf(caller: Caller): string | null {
  return caller.id === localUser.id ? null : caller.id;
}

interface Owned {
  readonly name: string;
  readonly owner: string | null;
}

export function maySee(caller: Caller, { name, owner }: Owned): boolean {
  if (isAdmin(caller)) return true;
  return caller.sandboxes === null ? owner === ownerOf(caller) : caller.sandboxes.includes(name);
}

export function refuseUnlessScoped(caller: Caller, wanted: readonly Scope[]): void {
  if (isAdmin(caller) || wanted.some((scope) => caller.scopes.includes(scope))) return;
  throw new AgentKernelError("forbidden", `this needs the scope ${wanted.join(" or ")}`, {
    hint: "use a key that has it: agentkernel keys create --scope",
  });
}
