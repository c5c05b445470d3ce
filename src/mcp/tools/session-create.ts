/** `sandbox_session_create`: a sandbox that belongs to this connection and ends with it. */
import { randomBytes } from "node:crypto";
import { resources, sandboxName } from "../../api/operations/fields.js";
import { optional } from "../../api/schema/object-shape.js";
import { AgentKernelError } from "../../core/errors.js";
import { policyFields, prepareFor } from "../prepare.js";
import { sandboxAnswer, sandboxLine, sessionAnswer } from "../sandbox-answer.js";
import { type Call, defineTool } from "../tool.js";

export const sandboxSessionCreate = defineTool({
  name: "sandbox_session_create",
  title: "Make a sandbox for this session",
  description:
    "Makes a sandbox for several commands that build on each other. It belongs to this connection: when the client goes, so does the sandbox with everything in it. What it writes is kept in memory. The answer has its name, for sandbox_exec and the file tools.",
  effects: { readOnly: false, destructive: true, openWorld: true },
  scope: ["run"],
  input: {
    name: optional(sandboxName, "How it will be called; otherwise a name is made up.", "scratch"),
    ...policyFields,
    resources: optional(resources, "Limits of the sandbox."),
  },
  output: sandboxAnswer,
  call: async ({ name = `session-${randomBytes(3).toString("hex")}`, ...body }, call) => {
    const { host, sessions, signal } = call;
    refuseTaken(name, host);
    const request = await prepareFor(call, [], body);
    const giveBack = host.places.reserveSandbox(host.caller, host.sandboxes?.list() ?? []);
    const making = host.places.at(host.caller, signal, () =>
      sessions.create(name, request, { host: host.runtime, signal }),
    );
    making.then(({ over }) => over.then(giveBack), giveBack);
    const sandbox = await making;
    host.noteRun(sandbox.id);
    const data = sessionAnswer(name, sandbox, host.redact);
    return { text: sandboxLine(data), data };
  },
});

/** Two sandboxes by one name could not be told apart. Those that the caller may not see are found out when one is made. */
function refuseTaken(name: string, { sandboxes }: Call["host"]): void {
  if (sandboxes === null || !sandboxes.list().some((one) => one.name === name)) return;
  throw new AgentKernelError("conflict", `there is a sandbox ${name} already`, {
    hint: "choose another name",
    details: { field: "name" },
  });
}
