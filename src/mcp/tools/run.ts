/** `sandbox_run`: one command in a sandbox of its own. */
import { timeWithin } from "../../api/commands/key-limits.js";
import { backendChoice, command, insidePath } from "../../api/operations/fields.js";
import { field, optional } from "../../api/schema/object-shape.js";
import { choice, flag } from "../../api/schema/shapes.js";
import { languages } from "../../backends/wasm/languages.js";
import { hiddenIn, MissedPaths } from "../../runtime/missed-paths.js";
import { runOnce } from "../../runtime/run-once.js";
import { commandAnswer, commandOutput } from "../output/answer.js";
import { CommandOutput, withRoom } from "../output/command-output.js";
import { endNotes, hiddenNotes } from "../output/notes.js";
import { DEFAULT_TIMEOUT_MS, policyFields, prepareFor, timeout } from "../prepare.js";
import { defineTool } from "../tool.js";

export const sandboxRun = defineTool({
  name: "sandbox_run",
  title: "Run a command in a sandbox",
  description:
    'Runs one command in a fresh, isolated sandbox on this machine and removes the sandbox afterwards. The project is /workspace, as a copy: what the command changes there does not reach the user\'s files, unless the user has set it up so, or agrees to a compatibility_mode that carries changes over. No shell is put between: for pipes or variables use ["sh", "-c", "…"]. An exit code other than 0 is a result, not an error.',
  effects: { readOnly: false, destructive: true, openWorld: true },
  scope: ["run"],
  input: {
    command: field(command, "The program and its arguments.", ["npm", "test"]),
    cwd: optional(insidePath, "The working directory inside the sandbox (/workspace).", "/workspace/src"),
    timeout_ms: timeout,
    ...policyFields,
    backend: optional(
      backendChoice,
      "What isolates it (auto). With wasm the command is a WebAssembly module of the project and its arguments.",
    ),
    lang: optional(choice(languages), "With backend wasm: the first word of the command is a program's text."),
    streaming: optional(flag(), "Tell output while the command runs, as progress notifications (false)."),
  },
  output: commandAnswer,
  call: async ({ streaming, command: argv, ...body }, call) => {
    const startedAt = performance.now();
    const { host, signal, ask } = call;
    const request = await prepareFor(call, argv, body);
    const own = request.policy.resources.timeoutMs;
    const timeoutMs = timeWithin(host.caller, { asked: body.timeout_ms, own, usual: DEFAULT_TIMEOUT_MS });
    return await withRoom(call, async (room) => {
      const progress = streaming === true ? call.progress : null;
      const output = new CommandOutput(request.policy.resources.outputMiB, room, progress);
      const ran = await host.places.at(host.caller, signal, () =>
        runOnce(request, {
          host: host.runtime,
          signal,
          stdin: null,
          timeoutMs,
          asker: ask === null ? undefined : { by: "mcp", ask, close: () => {} },
          connect: (exec) => output.connect(exec),
          onNamed: host.noteRun,
          onKilled: (cpuUs) => host.places.used(host.caller, cpuUs),
          settleLater: host.settleLater,
        }),
      );
      host.places.used(host.caller, ran.used.cpuUs ?? 0);
      await output.close();
      const missed = new MissedPaths(hiddenIn(ran.sandbox.layers));
      missed.look(output.captured.text());
      const hidden = [...hiddenNotes(ran.sandbox.layers), ...missed.remarks];
      const notes = [...request.notes, ...ran.image.notes, ...ran.notes, ...hidden].map((note) =>
        host.redact.value(note),
      );
      return commandOutput(
        {
          end: ran.command,
          captured: output.captured,
          ms: performance.now() - startedAt,
          sandbox: ran.sandbox.id,
          command: argv,
          notes: [...notes, ...endNotes(request.policy, { ...ran.used, carried: ran.carried }, ran.blocked)],
        },
        call,
      );
    });
  },
});
