/** Secrets as the gateway holds them, and what of them a sandbox gets: a placeholder each, and one certificate. */
import { randomBytes } from "node:crypto";
import { AgentKernelError } from "../../core/errors.js";
import type { SecretBinding } from "../../core/policy.js";
import { checkBinding } from "./argument.js";
import { Authority } from "./authority.js";
import { SecretValue } from "./value.js";

export interface BoundSecret extends SecretBinding {
  /** The placeholder of the value inside; it reveals nothing about it. */
  readonly placeholder: string;
  readonly value: SecretValue;
}

export interface SandboxSecrets {
  /** One for each binding; those of one name share placeholder and value. */
  readonly bound: readonly BoundSecret[];
  readonly authority: Authority;
  /** Whom real servers' certificates must come from, as PEM; the machine's own list where absent. */
  readonly roots?: readonly string[];
}

export interface SecretRequest extends SecretBinding {
  readonly value: string;
}

const RANDOM_BYTES = 20;

export function createSandboxSecrets(requests: readonly SecretRequest[], roots?: readonly string[]): SandboxSecrets {
  const byName = new Map<string, Pick<BoundSecret, "placeholder" | "value">>();
  const bound = requests.map((request) => {
    const binding = checkBinding(request);
    const known = byName.get(binding.name);
    if (known !== undefined && known.value.reveal() !== request.value) throw twoValues(binding.name);
    const fresh = known ?? { placeholder: newPlaceholder(), value: new SecretValue(binding.name, request.value) };
    byName.set(binding.name, fresh);
    return { ...binding, ...fresh };
  });
  const authority = new Authority(bound.map((secret) => secret.host));
  return { bound, authority, ...(roots === undefined ? {} : { roots }) };
}

/** The variables that programs in the sandbox get. */
export function secretEnvironment({ bound }: SandboxSecrets): Record<string, string> {
  return Object.fromEntries(bound.map(({ name, placeholder }) => [name, placeholder]));
}

function newPlaceholder(): string {
  return `agentkernel-secret-${randomBytes(RANDOM_BYTES).toString("hex")}`;
}

function twoValues(name: string): AgentKernelError {
  return new AgentKernelError("invalid_argument", `the secret ${name} is given with two values`, {
    hint: "use one name for each value",
    details: { field: "secret", name },
  });
}
