/** `sandbox_file_read`: a file in a sandbox, or the whole of an output that was cut. */
import { sandboxName } from "../../api/operations/fields.js";
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { choice, flag, text, whole } from "../../api/schema/shapes.js";
import { AgentKernelError } from "../../core/errors.js";
import { claimRoom, filePath, withFiles } from "../files.js";
import { OUTPUT_URI } from "../output/kept-outputs.js";
import { type Call, defineTool } from "../tool.js";

/** What one answer holds; more is read with offset. */
const USUAL_BYTES = 64 << 10;
const MOST_BYTES = 1 << 20;
/** What is longer is told once: as data, for programs. */
const MAX_REPEATED_BYTES = USUAL_BYTES;

const output = answerObject({
  path: field(text(), "What was read."),
  content: field(text(), "As encoding says."),
  encoding: field(choice(["utf8", "base64"]), "base64 where it is not text."),
  size_bytes: field(whole({ min: 0 }), "Of the whole file."),
  offset: field(whole({ min: 0 }), "Where content begins in it."),
  next_offset: optional(whole({ min: 0 }), "Where to read on; absent at the end."),
  is_whole: field(flag(), "content is all of it."),
});

interface Part {
  readonly bytes: Buffer;
  readonly sizeBytes: number;
}

export const sandboxFileRead = defineTool({
  name: "sandbox_file_read",
  title: "Read a file in a sandbox",
  description:
    "Reads a file in a sandbox; binary files come as base64. Long files come in parts: read on at next_offset. More than 65536 bytes at once come as structured content only. The whole of a command's output that was cut is read by the address that its answer names (agentkernel://outputs/…) as path, without a name.",
  effects: { readOnly: true },
  scope: ["read", "sandboxes", "run"],
  input: {
    name: optional(sandboxName, "Of the sandbox; not for outputs.", "work"),
    path: field(
      text({
        expected: "an absolute path inside the sandbox, or agentkernel://outputs/…",
        minLength: 1,
        maxLength: 4095,
      }),
      "Inside the sandbox, or the address of an output.",
      "/workspace/package.json",
    ),
    offset: optional(whole({ min: 0 }), "Where to begin, in bytes (0)."),
    limit: optional(whole({ min: 1, max: MOST_BYTES }), "How many bytes at most (65536)."),
  },
  output,
  call: async ({ name, path, offset = 0, limit = USUAL_BYTES }, call) => {
    const { bytes, sizeBytes } = path.startsWith(OUTPUT_URI)
      ? partOfOutput(path, offset, limit, call)
      : await partOfFile(name, path, offset, limit, call);
    const { content, encoding, length } = encoded(bytes, offset + bytes.length >= sizeBytes);
    const end = offset + length;
    const data = {
      path,
      content,
      encoding,
      size_bytes: sizeBytes,
      offset,
      ...(end < sizeBytes ? { next_offset: end } : {}),
      is_whole: offset === 0 && end >= sizeBytes,
    };
    const isLong = length > MAX_REPEATED_BYTES;
    const notes = [
      ...(isLong ? [`${length} bytes are in the structured content; read ${MAX_REPEATED_BYTES} to see them here`] : []),
      ...(end < sizeBytes ? [`${end} of ${sizeBytes} bytes; read on with offset ${end}`] : []),
      ...(encoding === "base64" ? ["base64"] : []),
    ];
    return { text: [...(isLong ? [] : [content]), ...notes.map((note) => `[${note}]`)].join("\n"), data };
  },
});

function partOfOutput(uri: string, offset: number, limit: number, { outputs, room }: Call): Part {
  const { bytes } = outputs.get(uri);
  const part = bytes.subarray(offset, offset + limit);
  claimRoom({ room }, part.length);
  return { bytes: part, sizeBytes: bytes.length };
}

async function partOfFile(
  name: string | undefined,
  path: string,
  offset: number,
  limit: number,
  call: Call,
): Promise<Part> {
  if (name === undefined) {
    throw new AgentKernelError("invalid_argument", "name is missing", {
      hint: "name the sandbox that the file is in; sandbox_list shows them",
      details: { field: "name" },
    });
  }
  const checked = filePath.read(path, "path");
  return await withFiles(name, "read", checked, call, async (files) => {
    const { info, chunks } = await files.openFile(checked, { offsetBytes: offset, limitBytes: limit });
    const parts: Buffer[] = [];
    let total = 0;
    for await (const chunk of chunks) {
      total += chunk.length;
      // Whatever size the guest claims.
      if (total > limit) throw new AgentKernelError("guest_protocol", "the sandbox sent more than was asked for");
      claimRoom(call, chunk.length);
      parts.push(Buffer.from(chunk));
    }
    return { bytes: Buffer.concat(parts), sizeBytes: info.sizeBytes };
  });
}

/** Text where it is text. A character that the limit has split is left for the next part. */
function encoded(
  bytes: Buffer,
  isEnd: boolean,
): { readonly content: string; readonly encoding: "utf8" | "base64"; readonly length: number } {
  const whole = isEnd ? bytes : bytes.subarray(0, bytes.length - splitBytes(bytes));
  const content = whole.toString("utf8");
  if (!content.includes("\0") && Buffer.from(content).equals(whole)) {
    return { content, encoding: "utf8", length: whole.length };
  }
  return { content: bytes.toString("base64"), encoding: "base64", length: bytes.length };
}

/** How many bytes at the end begin a character of UTF-8 and do not finish it. */
function splitBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > back ? back : 0;
  }
  return 0;
}
