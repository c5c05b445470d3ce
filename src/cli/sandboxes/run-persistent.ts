/** `run --keep`: a run whose sandbox stays, from its start on, under a name of ours. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import type { RunRequest } from "../../runtime/run-request.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { temporaryId } from "../../runtime/temporary-sandbox.js";
import { writeErr } from "../output.js";
import { create } from "./create.js";
import { executeIn } from "./execute.js";
import type { Life } from "./life-options.js";
import { shownUsage } from "./shown.js";

export async function runPersistent(
  request: RunRequest,
  { graceMs, ...life }: Life & { readonly graceMs: number },
  invocation: Invocation,
): Promise<number> {
  const { json, tty } = request;
  if (request.ask) {
    throw new AgentKernelError("invalid_argument", "--ask contradicts --keep", {
      hint: "a sandbox that stays has nobody to ask; name what may be reached with --allow-domain",
    });
  }
  const sandbox = await create({ name: temporaryId(), run: request, ...life }, invocation);
  try {
    const argv = commandOf(request, sandbox);
    await sandbox.start({ hostEnv: invocation.env });
    const args = { name: sandbox.name, argv, env: {}, cwd: null, user: null, timeoutMs: undefined, graceMs };
    return await executeIn({ ...args, tty, json, detached: false }, invocation, (kept) => about(kept, request));
  } finally {
    await tellOrRemove(sandbox, invocation, json);
  }
}

/** As a run that is over tells it. Nothing is carried over before a stop. */
async function about(sandbox: Sandbox, { policy, notes }: RunRequest): Promise<object> {
  const { backend, image, imageWhy, layers, usage } = await sandbox.info();
  return {
    backend,
    image: { ...image, why: imageWhy },
    profile: policy.profile,
    layers,
    usage: usage === null ? null : shownUsage(usage),
    network: { mode: policy.net.egress },
    changes: null,
    notes,
  };
}

/** One that never ran is of no use to anybody. */
async function tellOrRemove(sandbox: Sandbox, invocation: Invocation, json: boolean): Promise<void> {
  if (sandbox.state === "created") {
    await sandbox.remove({ force: true });
  } else if (!json) {
    const { name } = sandbox;
    await say(
      invocation,
      `the sandbox stays as ${name}: look in with agentkernel exec --tty ${name} sh, remove it with agentkernel remove --force ${name}`,
    );
  }
}

function commandOf({ argv }: RunRequest, { record: { image } }: Sandbox): readonly string[] {
  if (argv.length > 0) return argv;
  const own = [...(image.defaults?.entrypoint ?? []), ...(image.defaults?.cmd ?? [])];
  if (own.length > 0) return own;
  throw new AgentKernelError("invalid_argument", `the image ${escapeText(image.name)} does not say what to run`, {
    hint: "add a command, for example: agentkernel run --keep --image NAME sh",
  });
}

async function say(invocation: Invocation, line: string): Promise<void> {
  await writeErr(invocation, `agentkernel: ${escapeText(line)}\n`);
}
