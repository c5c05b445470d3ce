/** Files inside a named sandbox. */
import { answerObject, field, named, object, optional } from "../schema/object-shape.js";
import { choice, flag, list, nullable, number, text, type ValueOf, whole } from "../schema/shapes.js";
import { count } from "./answers.js";
import { encoding } from "./fields.js";
import { answer, bytes, operation } from "./operation.js";
import { namedErrors } from "./sandboxes.js";

const tag = "files";
const errors = [...namedErrors, "file_error", "policy_denied", "resource_exhausted", "guest_protocol"] as const;
const pathHelp =
  "`path` is absolute inside the sandbox, without its first slash: `workspace/a.txt` is /workspace/a.txt. It is resolved inside, never on the host; `..` is refused.";

const fileTypes = ["file", "dir", "symlink", "other"] as const;

const entry = named(
  "FileEntry",
  answerObject({
    name: field(text(), "In its folder."),
    type: field(choice(fileTypes), "What it is."),
    size_bytes: field(count, "Of its content."),
    mode: field(whole({ min: 0, max: 0o7777 }), "Permission bits."),
    modified_ms: field(number(), "When it was changed, since 1970."),
  }),
);

export const fileContent = named(
  "FileContent",
  answerObject({
    path: field(text(), "Absolute, inside the sandbox."),
    type: field(choice(["file"]), "A file."),
    content: field(text(), "What is in it."),
    encoding: field(encoding, "How `content` is written: base64 where it is not UTF-8 text."),
    size_bytes: field(count, "Of the whole file."),
    mode: field(whole({ min: 0, max: 0o7777 }), "Permission bits."),
  }),
);

const folderListing = named(
  "FolderListing",
  answerObject({
    path: field(text(), "Absolute, inside the sandbox."),
    type: field(choice(["dir"]), "A folder."),
    entries: field(list(entry), "Sorted by name."),
    truncated: field(flag(), "There are more than are listed."),
  }),
);
export type FolderListing = ValueOf<typeof folderListing>;

export const readFile = operation({
  id: "readFile",
  method: "GET",
  path: "/sandboxes/{name}/files/{path}",
  tag,
  summary: "Read a file, list a folder, or take a folder as a tar archive",
  help: `A file comes as its bytes, or as JSON with \`format=json\` (or \`Accept: application/json\`); a folder as a listing, or as an archive with \`format=tar\` (or \`Accept: application/x-tar\`). ${pathHelp}`,
  scope: ["read", "sandboxes"],
  query: object({
    format: optional(choice(["raw", "json", "tar"]), "Which form is wanted."),
    offset: optional(whole({ min: 0 }), "The first byte of a file that is wanted (0)."),
    limit: optional(whole({ min: 0 }), "How many bytes of it."),
  }),
  answers: [
    {
      status: 200,
      help: "The file or folder.",
      content: [
        { type: "application/octet-stream", schema: bytes },
        { type: "application/x-tar", schema: bytes },
        {
          type: "application/json",
          named: { ...fileContent.named, ...folderListing.named },
          schema: {
            type: "object",
            properties: {
              success: { type: "boolean", const: true },
              data: { anyOf: [fileContent.schema, folderListing.schema] },
            },
            required: ["success", "data"],
          },
        },
      ],
    },
  ],
  errors: [...errors],
});

export const writeFileRequest = named(
  "WriteFileRequest",
  object({
    content: field(text(), "What the file will have in it."),
    encoding: optional(encoding, "How `content` is written (utf8)."),
    mode: optional(whole({ min: 0, max: 0o777 }), "Permission bits (420, which is 0644)."),
  }),
);

const written = named(
  "Written",
  answerObject({
    path: field(text(), "Absolute, inside the sandbox."),
    size_bytes: field(nullable(count), "Of the file; null for a folder."),
  }),
);

export const writeFile = operation({
  id: "writeFile",
  method: "PUT",
  path: "/sandboxes/{name}/files/{path}",
  tag,
  summary: "Write a file, make a folder, or fill a folder from a tar archive",
  help: `The body is the file's bytes (\`application/octet-stream\`), JSON with its content, or an archive for the folder at \`path\` (\`application/x-tar\`). A file is replaced as a whole or not at all; folders on the way are made. ${pathHelp}`,
  scope: ["sandboxes"],
  query: object({
    mode: optional(
      text({ expected: "permission bits in octal", pattern: /^0?[0-7]{3}$/ }),
      "Permission bits in octal (0644).",
    ),
    type: optional(choice(["file", "dir"]), "`dir`: make a folder; there is no body then (file)."),
  }),
  body: writeFileRequest,
  isBodyOptional: true,
  otherBodies: [
    { type: "application/octet-stream", schema: bytes },
    { type: "application/x-tar", schema: bytes },
  ],
  answers: [answer(200, "It is there.", written)],
  errors: [...errors, "unsupported_media_type"],
});

export const deleteFile = operation({
  id: "deleteFile",
  method: "DELETE",
  path: "/sandboxes/{name}/files/{path}",
  tag,
  summary: "Delete a file or a folder",
  help: pathHelp,
  scope: ["sandboxes"],
  query: object({ recursive: optional(flag(), "A folder with all that is in it (false).") }),
  answers: [
    answer(
      200,
      "It is gone.",
      named("Deleted", answerObject({ path: field(text(), "Absolute, inside the sandbox.") })),
    ),
  ],
  errors: [...errors],
});
