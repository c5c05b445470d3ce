/** `sandbox_exec`: a command in a sandbox that is there before and after. */
import { timeWithin } from "../../api/commands/key-limits.js";
import { command, env, insidePath, sandboxName } from "../../api/operations/fields.js";
import { field, optional } from "../../api/schema/object-shape.js";
import { flag, text } from "../../api/schema/shapes.js";
import type { CommandEnd } from "../../runtime/command-end.js";
import { awaitCommand } from "../../runtime/run-once.js";
import type { ExecOptions } from "../../runtime/sandboxes/index.js";
import { refuseOtherUser } from "../held-to-configuration.js";
import { commandAnswer, commandOutput } from "../output/answer.js";
import { CommandOutput, withRoom } from "../output/command-output.js";
import { DEFAULT_TIMEOUT_MS, timeout } from "../prepare.js";
import { ensureRunning, hostEnvFor, type Reached, reach } from "../reach.js";
import { type Call, defineTool } from "../tool.js";

export const sandboxExec = defineTool({
  name: "sandbox_exec",
  title: "Run a command in an existing sandbox",
  description:
    "Runs a command in a sandbox made by sandbox_create or sandbox_session_create. Files, installed packages and background processes of earlier commands are still there. A sandbox that stays and is not running is started first.",
  effects: { readOnly: false, destructive: true, openWorld: true },
  scope: ["sandboxes", "run"],
  input: {
    name: field(sandboxName, "Of the sandbox.", "work"),
    command: field(command, "The program and its arguments.", ["sh", "-c", "npm ci && npm test"]),
    cwd: optional(insidePath, "The working directory inside the sandbox (/workspace)."),
    env: optional(env, "Environment variables for this command.", { CI: "1" }),
    user: optional(text({ minLength: 1, maxLength: 128 }), "Who it runs as: name, uid, name:group or uid:gid."),
    timeout_ms: timeout,
    streaming: optional(flag(), "Tell output while the command runs, as progress notifications (false)."),
  },
  output: commandAnswer,
  call: async (args, call) => {
    const startedAt = performance.now();
    const { host, signal } = call;
    const reached = reach(args.name, call);
    const policy = reached.kind === "session" ? reached.sandbox.policy : reached.sandbox.record.policy;
    refuseOtherUser(args.user, policy);
    const options: ExecOptions = {
      argv: args.command,
      hostEnv: hostEnvFor(host),
      cwd: args.cwd ?? null,
      env: Object.fromEntries(args.env ?? []),
      user: args.user ?? null,
      stdin: false,
      timeoutMs: timeWithin(host.caller, {
        asked: args.timeout_ms,
        own: policy.resources.timeoutMs,
        usual: DEFAULT_TIMEOUT_MS,
      }),
      detached: false,
    };
    return await withRoom(call, async (room) => {
      const output = new CommandOutput(
        policy.resources.outputMiB,
        room,
        args.streaming === true ? call.progress : null,
      );
      const end = await host.places.at(host.caller, signal, () => execIn(reached, options, output, call));
      await output.close();
      const ms = performance.now() - startedAt;
      return commandOutput(
        { end, captured: output.captured, ms, sandbox: args.name, command: args.command, notes: [] },
        call,
      );
    });
  },
});

async function execIn(
  { kind, sandbox }: Reached,
  options: ExecOptions,
  output: CommandOutput,
  call: Call,
): Promise<CommandEnd> {
  const { signal, ask } = call;
  const leave = ask === null ? null : sandbox.approvers.enter(ask);
  try {
    if (kind === "named") await ensureRunning(sandbox, call);
    signal.throwIfAborted();
    const exec = await sandbox.exec(options);
    call.host.places.charge(call.host.caller, exec.guest);
    try {
      const flushed = output.connect(exec.guest);
      return await awaitCommand({ exec: exec.guest, wait: exec.wait, stdin: null, signal, flushed });
    } finally {
      // Whoever asked for it is done with it, whatever became of it.
      exec.abandon();
    }
  } finally {
    leave?.();
  }
}
