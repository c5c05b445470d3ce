/**
 * Does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of JSON.
 * Whether that is right is judged by whoever started it.
 *
 *   node runner.js [--fetch] scenarios.json real|scripted
 *
 * With --fetch by the transport of those that are not Node.
 */
import { readFileSync } from "node:fs";
import {
  AgentKernel,
  AgentKernelError,
  ApiError,
  BadAnswerError,
  type CommandEvent,
  OutputEvent,
  RequestTimeoutError,
  Session,
  TransportError,
} from "agentkernel";
import { type Answer, type Call, calls } from "./calls.js";
import { refuseUnknown, Unknown } from "./known.js";
import { type Outcome, type Step, scenariosIn } from "./scenario.js";

const isByFetch = process.argv[2] === "--fetch";
const [file = "", server = "real"] = process.argv.slice(isByFetch ? 3 : 2);
const sdk = isByFetch ? "typescript-fetch" : "typescript";
const filled = readFileSync(file, "utf8")
  .replaceAll("{name}", process.env.CONFORMANCE_NAME ?? "conformance")
  .replaceAll("{dir}", process.env.CONFORMANCE_DIR ?? "");

for (const scenario of scenariosIn(filled, server)) {
  refuseUnknown(scenario);
  const { id, client: settings, steps } = scenario;
  const baseUrl = server === "scripted" ? `${process.env.CONFORMANCE_SCRIPTED_URL}/${id}` : undefined;
  const limits = { requestTimeoutMs: settings?.request_timeout_ms, maxRetries: settings?.max_retries };
  await using client =
    server === "local"
      ? await AgentKernel.local(limits)
      : new AgentKernel({ ...limits, baseUrl, fetch: isByFetch ? fetch : undefined, apiKey: settings?.api_key });
  const call: Call = { client, sandboxes: new Map() };
  for (const [index, step] of steps.entries()) {
    if (step.skip?.[sdk] !== undefined) continue;
    const outcome = await outcomeOf(call, step);
    process.stdout.write(`${JSON.stringify({ scenario: id, step: index, ...outcome })}\n`);
  }
  for (const sandbox of call.sandboxes.values()) if (sandbox instanceof Session) await sandbox.close();
}

async function outcomeOf(call: Call, step: Step): Promise<Outcome> {
  const events: unknown[] = [];
  const cancel = new AbortController();
  const timer = step.cancel_after_ms === undefined ? undefined : setTimeout(() => cancel.abort(), step.cancel_after_ms);
  try {
    const does = calls[step.call];
    if (does === undefined) throw new Unknown(`${step.call} is no call that this runner knows`);
    const answer: Answer = await does(call, step, cancel.signal);
    if (!("events" in answer)) return { result: answer.result };
    for await (const event of answer.events) {
      events.push(shown(event, step));
      if (event.type === step.leave_after) break;
    }
    return { events };
  } catch (error) {
    if (error instanceof Unknown) throw error;
    return { ...(events.length === 0 ? {} : { events }), error: errorShown(error, cancel.signal) };
  } finally {
    clearTimeout(timer);
  }
}

function shown(event: CommandEvent, { options }: Step): object {
  if (event instanceof OutputEvent) {
    const { type, text, bytes } = event;
    return options?.encoding === "base64" ? { type, base64: Buffer.from(bytes).toString("base64") } : { type, text };
  }
  return event.type === "exit" ? { type: "exit", code: event.code, timed_out: event.timedOut } : event;
}

function errorShown(error: unknown, signal: AbortSignal): object {
  if (error instanceof ApiError) {
    const { code, status, hint, retryAfterMs, isRetryable, message } = error;
    const told = { code, status, hint, retryable: isRetryable, retry_after_ms: retryAfterMs };
    return { kind: "api", ...told, has_message: message !== "" };
  }
  if (error instanceof RequestTimeoutError) return { kind: "timeout" };
  if (error instanceof TransportError) return { kind: "transport", message: error.message };
  if (error instanceof BadAnswerError) return { kind: "bad_answer" };
  if (signal.aborted && error === signal.reason) return { kind: "cancelled" };
  return { kind: error instanceof AgentKernelError ? "other" : "unexpected", message: String(error) };
}
