/** `images remove`: by name or by the start of a digest. What a process uses stays. */
import { AgentKernelError } from "../../core/errors.js";
import type { ImageRecord, PinUser } from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { imagesMeant } from "../images/find-image.js";
import { openImageStore } from "../images/settings.js";
import { familiarName, shownImage, userText } from "../images/shown-record.js";
import { sizeText } from "../images/text.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const words = wordsOf(parsed, "images remove", "the name or digest of an image", 1, 1000);
  const store = await openImageStore(invocation);
  const listed = await store.list();
  const users = await store.users();
  // All are looked up before the first goes: a word that is wrong removes nothing.
  const leaving = new Map<string, ImageRecord>();
  for (const record of words.flatMap((word) => imagesMeant(word, listed))) {
    const usedBy = users.get(record.manifestDigest);
    if (usedBy !== undefined) throw inUse(record, usedBy);
    leaving.set(`${record.reference}\n${record.platform}`, record);
  }
  for (const record of leaving.values()) await store.forget(record);
  const { freedBytes } = await store.clear();
  const removed = [...leaving.values()];
  if (parsed.flags.has("json")) {
    return await writeJson(invocation, {
      success: true,
      data: { removed: removed.map(shownImage), freed_bytes: freedBytes },
    });
  }
  const lines = removed.map((record) => `removed ${familiarName(record)}\n`);
  return await writeOut(invocation, `${lines.join("")}freed ${sizeText(freedBytes)}\n`);
}

function inUse(record: ImageRecord, usedBy: readonly PinUser[]): AgentKernelError {
  const which = [...new Set(usedBy)].map(userText).join(", ");
  const isKept = usedBy.some((user) => typeof user === "string");
  return new AgentKernelError("conflict", `${familiarName(record)} is in use by ${which}`, {
    hint: isKept
      ? "remove the sandbox first (agentkernel remove NAME), then the image"
      : "end it, or wait until it has ended, then remove the image",
  });
}
