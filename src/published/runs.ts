/** Commands in temporary sandboxes, and files, as the published SDKs ask for them. */
import { sandboxFor } from "../api/call.js";
import { handlers } from "../api/handlers.js";
import { sendReply } from "../api/http/exchange.js";
import { matchRoute } from "../api/http/router.js";
import { encoding, sandboxName, command as words } from "../api/operations/fields.js";
import { dictionary, field, object, optional } from "../api/schema/object-shape.js";
import { choice, flag, list, nullable, text } from "../api/schema/shapes.js";
import type { RenameEvent } from "../api/sse.js";
import { profileNames } from "../core/policy.js";
import { apiCall, dataOf, type PublishedCall, type PublishedHandler, STREAMED } from "./call.js";

const runRequest = object({
  command: field(words, "What is run."),
  image: optional(nullable(text({ minLength: 1 })), "Its image."),
  profile: optional(nullable(choice(profileNames)), "Its profile."),
  fast: optional(nullable(flag()), "Sandboxes are built ahead anyway."),
});

function runBody({ body }: PublishedCall) {
  const { command, image, profile } = runRequest.read(body, "");
  return { command, ...(image ? { image } : {}), ...(profile ? { profile } : {}) };
}

export const run: PublishedHandler = async (call) => {
  const { output } = await dataOf(await handlers.run(apiCall(call, {}, runBody(call)), call.backing));
  return { output };
};

const renamed: RenameEvent = (event, data) => {
  const { text: output, code, message } = data as { text?: string; code?: number; message?: string };
  if (event === "stdout" || event === "stderr") return ["output", { data: output, stream: event }];
  if (event === "exit") return ["done", { exit_code: code }];
  return event === "error" ? ["error", { message }] : [event, data];
};

export const runStream: PublishedHandler = async (call) => {
  const reply = await handlers.runStream(apiCall(call, {}, runBody(call)), call.backing);
  await sendReply(call.exchange, reply, renamed);
  return STREAMED;
};

const batchRequest = object({
  commands: field(list(object({ command: field(words, "What is run.") }), { minItems: 1, maxItems: 1000 }), "All."),
});

export const batch: PublishedHandler = async (call) => {
  const { commands } = batchRequest.read(call.body, "");
  const { results } = await dataOf(await handlers.batchRun(apiCall(call, {}, { commands }), call.backing));
  return {
    results: results.map((one: { success: boolean; data?: { output: string }; error?: { message: string } }) => ({
      output: one.data?.output ?? null,
      error: one.error?.message ?? null,
    })),
  };
};

/** The sandbox and the path inside, as the HTTP interface reads them. */
function placeOf({ request }: PublishedCall) {
  const { name, path } = matchRoute(request.method ?? "", request.url ?? "").params;
  return { name, path };
}

export const readFile: PublishedHandler = async (call) => {
  const reply = await handlers.readFile(apiCall(call, placeOf(call), undefined, { format: "json" }), call.backing);
  const { content, encoding: written, size_bytes } = await dataOf(reply);
  return { content, encoding: written, size: size_bytes };
};

const writeRequest = object({
  content: field(text(), "All of it."),
  encoding: optional(nullable(encoding), "How it is written."),
});

export const writeFile: PublishedHandler = async (call) => {
  const { content, encoding: written } = writeRequest.read(call.body, "");
  const body = { content, ...(written ? { encoding: written } : {}) };
  await handlers.writeFile(apiCall(call, placeOf(call), body, {}), call.backing);
  return "File written";
};

export const removeFile: PublishedHandler = async (call) => {
  await handlers.deleteFile(apiCall(call, placeOf(call), undefined, {}), call.backing);
  return "File deleted";
};

const filesRequest = object({
  files: field(dictionary({ pattern: /^.{1,4096}$/s, expected: "a path" }, text()), "Contents by path."),
});

export const writeFiles: PublishedHandler = async (call) => {
  const { files } = filesRequest.read(call.body, "");
  const name = sandboxName.read(call.params[0] ?? "", "name");
  sandboxFor(call.caller, call.backing, name);
  for (const [path, content] of files) {
    const inside = path.split("/").map(encodeURIComponent).join("/");
    const place = matchRoute("PUT", `/sandboxes/${name}/files/${inside}`).params;
    await handlers.writeFile(apiCall(call, place, { content }, {}), call.backing);
  }
  return { written: files.size };
};
