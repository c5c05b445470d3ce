/** What clients can read by address: outputs that were cut, files in sandboxes, and the output of detached commands. */
import { sandboxName } from "../api/operations/fields.js";
import { AgentKernelError } from "../core/errors.js";
import { claimRoom, withFiles } from "./files.js";
import { OUTPUT_URI } from "./output/kept-outputs.js";
import { reach } from "./reach.js";
import type { Call } from "./tool.js";

const SANDBOX_URI = "agentkernel://sandboxes/";
/** Of one resource, which has no parts. */
const MOST_BYTES = 1 << 20;

export const resourceTemplates = [
  {
    uriTemplate: `${OUTPUT_URI}{id}`,
    name: "output",
    title: "The whole output of a command",
    description: "Of a command whose answer was cut; the answer names the address.",
  },
  {
    uriTemplate: `${SANDBOX_URI}{name}/files/{+path}`,
    name: "file",
    title: "A file in a sandbox",
    description: "The path is from the sandbox's root, for example workspace/package.json.",
  },
  {
    uriTemplate: `${SANDBOX_URI}{name}/logs/{command}`,
    name: "log",
    title: "The output of a detached command",
    description: "Of a command that was started with `agentkernel exec --detach`, or detached over HTTP.",
  },
] as const;

export function listResources({ outputs }: Pick<Call, "outputs">): readonly object[] {
  return outputs.list().map(({ uri, title, bytes }) => ({
    uri,
    name: uri.slice(OUTPUT_URI.length),
    title: `Output of ${title}`,
    mimeType: "text/plain",
    size: bytes.length,
  }));
}

export async function readResource(uri: string, call: Call): Promise<{ readonly contents: readonly object[] }> {
  const bytes = await bytesAt(uri, call);
  const text = bytes.toString("utf8");
  const isText = !text.includes("\0") && Buffer.from(text).equals(bytes);
  const content = isText
    ? { uri, mimeType: "text/plain", text }
    : { uri, mimeType: "application/octet-stream", blob: bytes.toString("base64") };
  return { contents: [content] };
}

async function bytesAt(uri: string, call: Call): Promise<Buffer> {
  if (uri.startsWith(OUTPUT_URI)) return outputAt(uri, call);
  const [, rawName = "", kind, rest = ""] = /^agentkernel:\/\/sandboxes\/([^/]+)\/(files|logs)\/(.+)$/s.exec(uri) ?? [];
  const name = sandboxName.read(decoded(rawName), "uri");
  if (kind === "files") return await fileAt(name, `/${decoded(rest)}`, call);
  if (kind === "logs") return await logAt(name, decoded(rest), call);
  throw new AgentKernelError("not_found", "there is no such resource", {
    hint: "resources/templates/list tells of the forms that there are",
  });
}

function outputAt(uri: string, call: Call): Buffer {
  const { bytes } = call.outputs.get(uri);
  if (bytes.length > MOST_BYTES) {
    throw new AgentKernelError("file_error", `the output is larger than ${MOST_BYTES} bytes`, {
      hint: `read it in parts: sandbox_file_read with path ${uri}, offset and limit`,
      details: { code: "too_large" },
    });
  }
  claimRoom(call, bytes.length);
  return bytes;
}

async function fileAt(name: string, path: string, call: Call): Promise<Buffer> {
  return await withFiles(name, "read", path, call, async (files) => {
    const { chunks } = await files.openFile(path);
    const parts: Buffer[] = [];
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > MOST_BYTES) {
        throw new AgentKernelError("file_error", `the file is larger than ${MOST_BYTES} bytes`, {
          hint: "read it in parts with sandbox_file_read",
          details: { code: "too_large" },
        });
      }
      claimRoom(call, chunk.length);
      parts.push(Buffer.from(chunk));
    }
    return Buffer.concat(parts);
  });
}

async function logAt(name: string, command: string, call: Call): Promise<Buffer> {
  const { kind, sandbox } = reach(name, call, ["read", "sandboxes"]);
  if (kind === "session") throw new AgentKernelError("not_found", `no output of a command in ${name} was kept`);
  claimRoom(call, MOST_BYTES);
  const parts: Buffer[] = [];
  let total = 0;
  for await (const piece of sandbox.logs(command, { follow: false, signal: call.signal })) {
    if (!("bytes" in piece)) continue;
    // What comes last is what is looked for.
    parts.push(Buffer.from(piece.bytes));
    total += piece.bytes.length;
    while (total > MOST_BYTES) total -= parts.shift()?.length ?? total;
  }
  return Buffer.concat(parts);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new AgentKernelError("invalid_argument", "uri has a percent sign that encodes no character", {
      details: { field: "uri" },
      cause,
    });
  }
}
