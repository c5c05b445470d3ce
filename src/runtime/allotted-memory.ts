/**
 * The default for memory is a share of the machine's, which fits a limit: nothing is taken before it is used. A virtual
 * machine gets its memory as a whole, and its kernel has a table of it. There the default is the small one.
 */
import type { Backend } from "../core/backend.js";
import type { Policy } from "../core/policy.js";
import { numericDefaults } from "../settings/index.js";
import type { RunRequest } from "./run-request.js";

/** Policies are frozen and shared by many requests; so are these. */
const made = new WeakMap<Policy, Policy>();

/** The policy of a request on the backend that was chosen for it. What somebody asked for stays as it is. */
export function policyOn(
  { allotsMemory }: Pick<Backend, "allotsMemory">,
  { policy, origins }: Pick<RunRequest, "policy" | "origins">,
): Policy {
  const memoryMiB = numericDefaults["resources.memoryMiB"];
  const isDefault = origins["resources.memoryMiB"] === "default";
  if (allotsMemory !== true || !isDefault || policy.resources.memoryMiB <= memoryMiB) return policy;
  const known = made.get(policy);
  if (known !== undefined) return known;
  const resources = Object.freeze({ ...policy.resources, memoryMiB });
  const smaller = Object.freeze({ ...policy, resources });
  made.set(policy, smaller);
  return smaller;
}
