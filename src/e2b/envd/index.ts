/** The services that E2B's clients expect inside a sandbox: Connect for commands and the filesystem, HTTP for files. */
import type { Exchange } from "../../api/http/exchange.js";
import { AgentKernelError } from "../../core/errors.js";
import { type E2bContext, type Found, findSandbox } from "../context.js";
import { connectCode, connectStatuses, e2bError, sandboxGone } from "../errors.js";
import { wake } from "../sandboxes/wake.js";
import type { EnvdCall } from "./call.js";
import { isStreamRequest, MessageStream, readMessage } from "./connect-protocol.js";
import { serveFile } from "./files.js";
import { filesystem } from "./filesystem.js";
import type { Method } from "./method.js";
import { processService } from "./process.js";
import { sandboxOfSignature } from "./signature.js";

export async function serveEnvd(exchange: Exchange, name: string, context: E2bContext): Promise<void> {
  const { request, response } = exchange;
  const found = findSandbox(context, name);
  if (found === undefined) throw sandboxGone(name);
  const [path = ""] = (request.url ?? "").split("?", 1);
  if (path === "/health" && request.method === "GET") {
    if (found.sandbox.state !== "running") throw sandboxGone(name);
    response.writeHead(204, { "cache-control": "no-store" }).end();
    return;
  }
  const { "x-access-token": token } = request.headers;
  const hasToken = typeof token === "string" && context.tokens.is("envd", found.sandbox.id, token);
  const isFile = path === "/files";
  if (!hasToken && !(isFile && sandboxOfSignature(request, [found], context) !== undefined)) {
    throw new AgentKernelError("unauthorized", "the access token of the sandbox is missing or wrong", {
      hint: "Sandbox.connect answers it to who has the API key",
    });
  }
  await serveAs(exchange, found, context, path);
}

/** The address names no sandbox. */
export async function serveSignedFile(exchange: Exchange, context: E2bContext): Promise<void> {
  const all = context.host.backing.sandboxes.list().flatMap(({ name }) => findSandbox(context, name) ?? []);
  const found = sandboxOfSignature(exchange.request, all, context);
  if (found === undefined) throw new AgentKernelError("unauthorized", "the signature is not valid, or not any more");
  await serveAs(exchange, found, context, "/files");
}

async function serveAs(exchange: Exchange, found: Found, context: E2bContext, path: string): Promise<void> {
  const { host } = context;
  const { sandbox, record } = found;
  const caller = host.auth.callerOfOwner(sandbox.owner);
  if (caller === null) throw new AgentKernelError("unauthorized", "the key that the sandbox belongs to is not valid");
  exchange.caller = caller;
  host.admit(caller, ["sandboxes"]);
  host.watchOver(exchange, caller);
  const { request, response, source, signal } = exchange;
  const call: EnvdCall = { ...context, sandbox, record, caller, request, response, source, signal };
  if (!sandbox.isServing) {
    if (!record.autoResume) throw sandboxGone(sandbox.name);
    await wake(sandbox, host.backing, caller, signal);
    context.timeouts.watch(sandbox);
  }
  if (path === "/files") return await serveFile(call, exchange);
  if (path === "/metrics" && request.method === "GET") return exchange.sendJson(200, await figures(call));
  if (path === "/envs" && request.method === "GET") return exchange.sendJson(200, envsOf(call));
  return await serveConnect(exchange, call, path);
}

async function serveConnect(exchange: Exchange, call: EnvdCall, path: string): Promise<void> {
  const [, service = "", method = ""] = path.split("/");
  const found = services.get(service)?.get(method);
  if (found === undefined) {
    throw new AgentKernelError("not_found", `there is nothing at ${path.slice(0, 100)}`);
  }
  const isStream = isStreamRequest(call.source);
  let stream: MessageStream | undefined;
  try {
    if (found.kind === "stream") {
      const message = await readMessage(call.source, call.host.maxBodyBytes);
      stream = new MessageStream(call.response);
      await found.serve(call, message, stream);
      stream.end();
      return;
    }
    const answer = await (found.kind === "input"
      ? found.serve(call)
      : found.serve(call, await readMessage(call.source, call.host.maxBodyBytes)));
    if (!isStream) {
      exchange.sendJson(200, answer);
      return;
    }
    stream = new MessageStream(call.response);
    stream.send(answer);
    stream.end();
  } catch (error) {
    const told = e2bError(error, call.host.backing.redactFor(call.caller));
    const { message } = told;
    const code = connectCode(told);
    exchange.error = told.code;
    if (told.status >= 500 && told.code === "internal" && !call.signal.aborted) call.host.onFault(error, exchange.id);
    if (isStream) (stream ?? new MessageStream(call.response)).end({ code, message });
    else exchange.sendJson(connectStatuses[code], { code, message });
  }
}

const services: ReadonlyMap<string, ReadonlyMap<string, Method>> = new Map([
  ["process.Process", new Map(Object.entries(processService))],
  ["filesystem.Filesystem", new Map(Object.entries(filesystem))],
]);

async function figures({ sandbox }: EnvdCall): Promise<object> {
  const { atMs, usage, diskBytes, limits } = await sandbox.stats();
  return {
    ts: Math.floor(atMs / 1000),
    cpu_count: Math.ceil(limits.vcpus),
    mem_total: limits.memoryBytes,
    mem_used: usage?.memoryBytes ?? 0,
    disk_used: diskBytes ?? 0,
    disk_total: sandbox.record.policy.resources.diskMiB * 2 ** 20,
  };
}

/** Those that the client gave when it made the sandbox. */
function envsOf({ sandbox }: EnvdCall): object {
  return sandbox.record.policy.proc.env;
}
