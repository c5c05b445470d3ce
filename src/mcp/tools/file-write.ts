/** `sandbox_file_write`: a file in a sandbox, as a whole. */
import { decodeContent } from "../../api/commands/captured.js";
import { encoding, sandboxName } from "../../api/operations/fields.js";
import { answerObject, field, optional } from "../../api/schema/object-shape.js";
import { text, whole } from "../../api/schema/shapes.js";
import { filePath, withFiles } from "../files.js";
import { defineTool } from "../tool.js";

export const sandboxFileWrite = defineTool({
  name: "sandbox_file_write",
  title: "Write a file in a sandbox",
  description:
    "Writes a file in a sandbox, replacing it where it is there; folders above it are made. Binary content as base64.",
  effects: { readOnly: false, destructive: true, idempotent: true },
  scope: ["sandboxes", "run"],
  input: {
    name: field(sandboxName, "Of the sandbox.", "work"),
    path: field(filePath, "Where, inside the sandbox.", "/workspace/notes.txt"),
    content: field(text(), "All of it."),
    encoding: optional(encoding, "How content is written (utf8)."),
    mode: optional(whole({ min: 0, max: 0o777 }), "Permission bits, as a number (420, which is 0644)."),
  },
  output: answerObject({
    path: field(text(), "Where it is."),
    size_bytes: field(whole({ min: 0 }), "How large it is."),
  }),
  call: async ({ name, path, content, encoding: how = "utf8", mode }, call) => {
    const bytes = decodeContent(content, how, "content");
    const options = { parents: true, ...(mode === undefined ? {} : { mode }) };
    const { sizeBytes } = await withFiles(name, "write", path, call, (files) => files.writeFile(path, bytes, options));
    return { text: `${sizeBytes} bytes were written to ${path}.`, data: { path, size_bytes: sizeBytes } };
  },
});
