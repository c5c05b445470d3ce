/** `images export`: an archive that other tools read, to a file that appears whole or to standard output. */
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { type ExportFormat, exportFormats, exportImage, hostPlatform, platformText } from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { imagesMeant } from "../images/find-image.js";
import { interruptible } from "../images/interruptible.js";
import { openImageStore } from "../images/settings.js";
import { shownImage } from "../images/shown-record.js";
import { sizeText } from "../images/text.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [word = "", target = ""] = wordsOf(parsed, "images export", "an image and a file", 2, 2);
  const format: ExportFormat = exportFormats.find((known) => known === parsed.values.get("format")?.[0]) ?? "oci";
  const json = parsed.flags.has("json");
  if (target === "-" && (json || invocation.stdout.isTerminal)) {
    throw new AgentKernelError("invalid_argument", "the archive cannot go to standard output here", {
      hint: json ? "with --json, name a file" : "name a file, or lead standard output into another program",
    });
  }
  const store = await openImageStore(invocation);
  const records = imagesMeant(word, await store.list());
  const record = records.find(({ platform }) => platform === platformText(hostPlatform())) ?? records[0];
  if (record === undefined) throw new Error("a word that means no image is refused");
  return await interruptible(invocation, "the export", async (signal) => {
    const write = (out: Writable): Promise<void> => exportImage(record, out, { store, format, signal });
    if (target === "-") {
      await write(invocation.stdout.stream());
      return 0;
    }
    const path = resolve(invocation.cwd, target);
    const sizeBytes = await writeWhole(path, write);
    if (json)
      return await writeJson(invocation, {
        success: true,
        data: { ...shownImage(record), format, path, size_bytes: sizeBytes },
      });
    return await writeOut(invocation, `${escapeText(path)} (${format}, ${sizeText(sizeBytes)})\n`);
  });
}

async function writeWhole(path: string, write: (out: Writable) => Promise<void>): Promise<number> {
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const out = createWriteStream(fresh, { flags: "wx", flush: true });
    const ended = finished(out);
    // A failure is told to the writer, or below.
    ended.catch(() => {});
    try {
      await write(out);
    } finally {
      out.end();
    }
    await ended;
    const { size } = await stat(fresh);
    await rename(fresh, path);
    return size;
  } catch (error) {
    await rm(fresh, { force: true });
    if (isAgentKernelError(error) || !(error instanceof Error) || !("code" in error)) throw error;
    throw new AgentKernelError("invalid_argument", `${escapeText(path)} cannot be written (${error.code})`, {
      hint: "name a file in a folder that you may write",
      cause: error,
    });
  }
}
