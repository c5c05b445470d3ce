/**
 * The values of a kept sandbox's secrets, in memory only. After another process took the sandbox over they are not
 * known: what they were bound to is then out of reach, so that no placeholder is ever sent where a secret was meant.
 */
import type { NetworkRules, SecretBinding } from "../../core/policy.js";
import type { Asker } from "../asker.js";
import type { RunAudit } from "../run-audit.js";
import { openEgress, type RunEgress } from "../run-egress.js";
import type { SandboxRecord } from "./record.js";
import type { HostEnv } from "./types.js";

interface EgressRequest {
  readonly hostEnv: HostEnv;
  /** It was started by another process: which values it had, and whom it trusts, died with that one. */
  readonly isAdopted: boolean;
  readonly asker: Asker;
}

export class SecretValues {
  readonly #bindings: readonly SecretBinding[];
  readonly #held = new Map<string, string>();
  #areMissing = false;

  constructor(bindings: readonly SecretBinding[], hostEnv: HostEnv) {
    this.#bindings = bindings;
    this.#take(hostEnv);
  }

  async openEgress(
    { policy }: SandboxRecord,
    rules: () => NetworkRules,
    audit: RunAudit,
    { hostEnv, isAdopted, asker }: EgressRequest,
  ): Promise<RunEgress | null> {
    if (isAdopted && this.#bindings.length > 0) {
      this.#areMissing = true;
      const without = { ...policy, net: { ...policy.net, secrets: [] } };
      return await openEgress({ policy: without, hostEnv }, audit, asker, () => this.#withoutBound(rules()));
    }
    this.#take(hostEnv);
    const env = { ...hostEnv, ...Object.fromEntries(this.#held) };
    const egress = await openEgress({ policy, hostEnv: env }, audit, asker, rules);
    this.#areMissing = false;
    return egress;
  }

  notes(isRunning: boolean): readonly string[] {
    if (!isRunning || !this.#areMissing) return [];
    const names = [...new Set(this.#bindings.map(({ name }) => name))].join(", ");
    const hosts = [...new Set(this.#bindings.map(({ host }) => host))].join(", ");
    return [
      `the values of its secrets (${names}) are not known any more, and ${hosts} cannot be reached: stop it, and start it again where they are set`,
    ];
  }

  #withoutBound(rules: NetworkRules): NetworkRules {
    return { ...rules, deny: [...rules.deny, ...this.#bindings.map(({ host }) => ({ domain: host }))] };
  }

  #take(hostEnv: HostEnv): void {
    for (const { name } of this.#bindings) {
      const value = hostEnv[name];
      if (value !== undefined && value !== "") this.#held.set(name, value);
    }
  }
}
