/** Files inside named sandboxes. Every path is resolved inside, by the guest; the host only carries bytes. */
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import type { FileStat, GuestFiles } from "../../guest/index.js";
import type { Sandbox } from "../../runtime/sandboxes/index.js";
import { type ApiCall, type Backing, type HandlerFor, sandboxFor } from "../call.js";
import { decodeContent } from "../commands/captured.js";
import { bodyChunks, hasBody, mediaType } from "../http/body.js";
import { data, type Reply } from "../http/reply.js";
import type { FolderListing, readFile as readOperation, writeFileRequest } from "../operations/files.js";
import type { ValueOf } from "../schema/shapes.js";
import { packFolder, unpackInto } from "../tar/folders.js";

/** The most that is held in memory of a file that is asked for as JSON. */
const MAX_JSON_BYTES = 32 << 20;

type ReadQuery = ValueOf<NonNullable<(typeof readOperation)["query"]>>;

export const readFile: HandlerFor<"readFile"> = async ({ caller, params, query, request }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const { path } = params;
  return await recorded(sandbox, "read", path, async (files) => {
    const found = await resolved(files, path);
    const accepts = request.headers.accept ?? "";
    if (found.type === "dir") return await readFolder(files, path, query, accepts);
    if (found.type !== "file") {
      throw new AgentKernelError("file_error", `${path} is neither a file nor a folder`, {
        details: { code: "not_regular" },
      });
    }
    const wantsJson = query.format === "json" || (query.format === undefined && accepts.includes("application/json"));
    return wantsJson ? await fileAsJson(files, path, query) : await fileAsBytes(files, path, query);
  });
};

/** What the path means, links followed; a link that leads nowhere is not there. */
async function resolved(files: GuestFiles, path: string): Promise<Pick<FileStat, "type">> {
  const found = await files.stat(path);
  if (found.type !== "symlink") return found;
  try {
    await files.list(path);
    return { type: "dir" };
  } catch (error) {
    if (!isAgentKernelError(error) || error.code !== "file_error") throw error;
    return { type: "file" };
  }
}

async function readFolder(files: GuestFiles, path: string, query: ReadQuery, accepts: string): Promise<Reply> {
  const wantsTar = query.format === "tar" || (query.format === undefined && accepts.includes("application/x-tar"));
  if (wantsTar) return { kind: "bytes", type: "application/x-tar", content: Readable.from(packFolder(files, path)) };
  if (query.format === "raw") {
    throw new AgentKernelError("file_error", `${path} is a folder`, {
      hint: "ask for it with format=tar, or without a format for a listing",
      details: { code: "is_dir" },
    });
  }
  const { entries, truncated } = await files.list(path);
  const listing: FolderListing = {
    path,
    type: "dir",
    entries: entries
      .map(({ name, type, sizeBytes, mode, mtimeMs }) => ({
        name,
        type,
        size_bytes: sizeBytes,
        mode: mode & 0o7777,
        modified_ms: mtimeMs,
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    truncated,
  };
  return data(listing);
}

function rangeOf({ offset, limit }: ReadQuery) {
  return {
    ...(offset === undefined ? {} : { offsetBytes: offset }),
    ...(limit === undefined ? {} : { limitBytes: limit }),
  };
}

async function fileAsBytes(files: GuestFiles, path: string, query: ReadQuery): Promise<Reply> {
  const { info, chunks } = await files.openFile(path, rangeOf(query));
  const headers = { "x-file-size": String(info.sizeBytes), "x-file-mode": (info.mode & 0o7777).toString(8) };
  return { kind: "bytes", type: "application/octet-stream", content: Readable.from(chunks), headers };
}

async function fileAsJson(files: GuestFiles, path: string, query: ReadQuery): Promise<Reply> {
  const { info, chunks } = await files.openFile(path, rangeOf(query));
  const parts: Buffer[] = [];
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > MAX_JSON_BYTES) {
      throw new AgentKernelError("file_error", `${path} is larger than ${MAX_JSON_BYTES} bytes`, {
        hint: "ask for its bytes (format=raw), or for a part (offset, limit)",
        details: { code: "too_large" },
      });
    }
    parts.push(chunk);
  }
  const bytes = Buffer.concat(parts);
  const text = bytes.toString("utf8");
  const isText = Buffer.from(text).equals(bytes);
  return data({
    path,
    type: "file",
    content: isText ? text : bytes.toString("base64"),
    encoding: isText ? "utf8" : "base64",
    size_bytes: info.sizeBytes,
    mode: info.mode & 0o7777,
  });
}

export const writeFile: HandlerFor<"writeFile"> = async (asked, backing) => {
  const { caller, params, query, source, request, body } = asked;
  const sandbox = sandboxFor(caller, backing, params.name);
  const { path } = params;
  return await recorded(sandbox, "write", path, async (files) => {
    const mode = query.mode === undefined ? undefined : Number.parseInt(query.mode, 8);
    if (query.type === "dir") {
      if (hasBody(request))
        throw new AgentKernelError("invalid_argument", "body: a folder that is made has none", {
          details: { field: "body" },
        });
      await files.mkdir(path, { parents: true, ...(mode === undefined ? {} : { mode }) });
      return data({ path, size_bytes: null });
    }
    if (mediaType(request) === "application/x-tar") {
      await unpackInto(files, path, bodyChunks(source, backing.maxUploadBytes));
      return data({ path, size_bytes: null });
    }
    const { sizeBytes } = await writeContent(asked, files, path, backing, mode);
    return data({ path, size_bytes: sizeBytes });
  });

  function writeContent(
    { body: json }: ApiCall<ValueOf<typeof writeFileRequest>, unknown>,
    files: GuestFiles,
    where: string,
    { maxUploadBytes }: Backing,
    mode: number | undefined,
  ) {
    const isJson = body !== undefined;
    const bits = isJson ? (json.mode ?? mode) : mode;
    const content = isJson
      ? decodeContent(json.content, json.encoding ?? "utf8", "content")
      : bodyChunks(source, maxUploadBytes);
    return files.writeFile(where, content, { parents: true, ...(bits === undefined ? {} : { mode: bits }) });
  }
};

export const deleteFile: HandlerFor<"deleteFile"> = async ({ caller, params, query }, backing) => {
  const sandbox = sandboxFor(caller, backing, params.name);
  const { path } = params;
  return await recorded(sandbox, "delete", path, async (files) => {
    await files.remove(path, { recursive: query.recursive === true }).catch((error: unknown) => {
      throw query.recursive === true ? error : withRecursion(error, path);
    });
    return data({ path });
  });
};

function withRecursion(error: unknown, path: string): unknown {
  if (!isAgentKernelError(error) || error.details.code !== "is_dir") return error;
  const { code, details } = error;
  return new AgentKernelError(code, `${path} is a folder that is not empty`, {
    hint: "ask with ?recursive=true to delete it with all that is in it",
    details,
    cause: error,
  });
}

/** Done, and on record whichever way it ends. The sandbox does not count as idle meanwhile. */
export async function recorded<T>(
  sandbox: Sandbox,
  operation: "read" | "write" | "delete",
  path: string,
  work: (files: GuestFiles) => Promise<T>,
): Promise<T> {
  const done = sandbox.use();
  const record = (verdict: "allowed" | "denied", reason?: string) =>
    sandbox.audit.records.file({ operation, path, bytes: null, verdict, ...(reason === undefined ? {} : { reason }) });
  try {
    const reply = await work(sandbox.files);
    record("allowed");
    return reply;
  } catch (error) {
    const told = asAnswered(error, path);
    const isDenied = isAgentKernelError(error) && (error.code === "policy_denied" || error.details.code === "denied");
    record(isDenied ? "denied" : "allowed", told instanceof Error ? told.message : String(told));
    throw told;
  } finally {
    done();
  }
}

/** What is not there is not found, here as everywhere. */
function asAnswered(error: unknown, path: string): unknown {
  if (!isAgentKernelError(error) || error.code !== "file_error" || error.details.code !== "not_found") return error;
  return new AgentKernelError("not_found", `there is no ${path} in the sandbox`, { cause: error });
}
