/** `sandbox_create`: a named sandbox that stays. */
import { maySee, ownerOf } from "../../api/auth/caller.js";
import { duration, resources, sandboxName } from "../../api/operations/fields.js";
import { durationOf } from "../../api/resources/sandboxes.js";
import { field, optional } from "../../api/schema/object-shape.js";
import { AgentKernelError } from "../../core/errors.js";
import { policyFields, prepareFor } from "../prepare.js";
import { hostEnvFor, sandboxesOf } from "../reach.js";
import { namedAnswer, sandboxAnswer, sandboxLine } from "../sandbox-answer.js";
import { defineTool } from "../tool.js";

export const sandboxCreate = defineTool({
  name: "sandbox_create",
  title: "Make a sandbox that stays",
  description:
    "Makes and starts a named sandbox that stays after this connection ends, until sandbox_remove. For one that is only needed now, sandbox_session_create is cheaper and cleans up after itself.",
  effects: { readOnly: false, destructive: true, openWorld: true },
  scope: ["sandboxes"],
  input: {
    name: field(sandboxName, "How it will be called.", "work"),
    ...policyFields,
    resources: optional(resources, "Limits of the sandbox."),
    ttl: optional(duration, "It is removed so long after its creation.", "8h"),
    idle_timeout: optional(duration, "It is stopped after so long without work.", "30m"),
  },
  output: sandboxAnswer,
  call: async ({ name, ttl, idle_timeout: idle, ...body }, call) => {
    const { host, sessions, signal } = call;
    const sandboxes = sandboxesOf(host);
    const { caller } = host;
    if (!maySee(caller, { name, owner: ownerOf(caller) })) {
      throw new AgentKernelError("forbidden", `name: this key is for ${caller.sandboxes?.join(", ")} only`, {
        details: { field: "name" },
      });
    }
    if (sessions.get(name) !== null) {
      throw new AgentKernelError("conflict", `there is a sandbox ${name} already`, { details: { field: "name" } });
    }
    const run = await prepareFor(call, [], body);
    const sandbox = await host.places.at(caller, signal, async () => {
      const giveBack = host.places.reserveSandbox(caller, sandboxes.list());
      const life = { ttlMs: durationOf("ttl", ttl), idleTimeoutMs: durationOf("idle_timeout", idle) };
      const whose = { owner: ownerOf(caller), madeIn: host.project };
      const made = await sandboxes.create({ name, run, ...life, ...whose, signal }).finally(giveBack);
      try {
        await made.start({ hostEnv: hostEnvFor(host), signal });
      } catch (error) {
        // What could not be started was never asked for as a sandbox that does not run.
        await made.remove({ force: true });
        throw error;
      }
      return made;
    });
    const data = await namedAnswer(sandbox, host.redact);
    return { text: sandboxLine(data), data };
  },
});
