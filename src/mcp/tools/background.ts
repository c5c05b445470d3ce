/** `sandbox_background`: a command that goes on after the call, in a sandbox that stays. */
import { timeWithin } from "../../api/commands/key-limits.js";
import { command, env, insidePath, sandboxName, timeoutMs } from "../../api/operations/fields.js";
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { text } from "../../api/schema/shapes.js";
import { deferred } from "../../core/deferred.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { refuseOtherUser } from "../held-to-configuration.js";
import { ensureRunning, hostEnvFor, named } from "../reach.js";
import { type Call, defineTool } from "../tool.js";

export const sandboxBackground = defineTool({
  name: "sandbox_background",
  title: "Start a command in the background",
  description:
    "Starts a command in a sandbox made by sandbox_create, such as a server or a watcher, and returns at once with its id. sandbox_logs shows what it writes, sandbox_kill ends it. It ends with the sandbox at the latest.",
  effects: { readOnly: false, destructive: true, openWorld: true },
  scope: ["sandboxes"],
  input: {
    name: field(sandboxName, "Of the sandbox.", "work"),
    command: field(command, "The program and its arguments.", ["npm", "run", "dev"]),
    cwd: optional(insidePath, "The working directory inside the sandbox (/workspace)."),
    env: optional(env, "Environment variables for this command.", { PORT: "3000" }),
    user: optional(text({ minLength: 1, maxLength: 128 }), "Who it runs as: name, uid, name:group or uid:gid."),
    timeout_ms: optional(timeoutMs, "After so many milliseconds it is ended (never)."),
  },
  output: answerObject({
    exec: field(text(), "By which sandbox_logs and sandbox_kill know it."),
    sandbox: field(text(), "The sandbox that it runs in."),
  }),
  call: async (args, call) => {
    const sandbox = named(args.name, call);
    const { policy } = sandbox.record;
    refuseOtherUser(args.user, policy);
    const { caller } = call.host;
    const exec = await started(sandbox, call, {
      argv: args.command,
      hostEnv: hostEnvFor(call.host),
      cwd: args.cwd ?? null,
      env: Object.fromEntries(args.env ?? []),
      user: args.user ?? null,
      stdin: false,
      timeoutMs: timeWithin(caller, { asked: args.timeout_ms, own: policy.resources.timeoutMs, usual: null }),
      detached: true,
    });
    return { text: `${exec} runs in ${sandbox.name}`, data: { exec, sandbox: sandbox.name } };
  },
});

/** It holds the caller's place until it is over, and does not outlive the caller's key. */
async function started(sandbox: Sandbox, call: Call, options: Parameters<Sandbox["exec"]>[0]): Promise<string> {
  const { host, signal } = call;
  const answered = deferred<string>();
  const held = host.places.at(host.caller, signal, async (leaveAlone) => {
    await ensureRunning(sandbox, call);
    signal.throwIfAborted();
    const exec = await sandbox.exec(options);
    host.places.charge(host.caller, exec.guest);
    await exec.guest.opened;
    const stopWatching = host.whileValid(host.caller, () => exec.abandon());
    answered.resolve(exec.id);
    leaveAlone();
    await exec.over;
    stopWatching();
  });
  held.catch(answered.reject);
  return await answered.promise;
}
