/** `images pull`: from a registry or its mirrors into the store; a locked image by its digest. */
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import {
  type Digest,
  familiarForm,
  type ImageReference,
  lockedReference,
  lockKey,
  makeRoom,
  type Pulled,
  parseReference,
  pull,
  readLock,
  shortDigest,
  type TagOptions,
  tagDigest,
} from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { interruptible } from "../images/interruptible.js";
import { terminalBars } from "../images/progress.js";
import { remark } from "../images/remark.js";
import { imageVerbSettings, openImageStore } from "../images/settings.js";
import { familiarName, shownImage } from "../images/shown-record.js";
import { sizeText } from "../images/text.js";
import { wordsOf } from "../images/words.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [word = ""] = wordsOf(parsed, "images pull", "the name of one image", 1, 1);
  if (word === "host") {
    throw new AgentKernelError("invalid_argument", "host is this machine's own /usr and is never pulled", {
      hint: "use it as it is: agentkernel run --image host …",
    });
  }
  const named = parseReference(word);
  const { registry, ceilingBytes } = await imageVerbSettings(parsed, invocation);
  const json = parsed.flags.has("json");
  const reference = lockedReference(readLock(invocation.cwd), named);
  const locked = reference !== named;
  return await interruptible(invocation, `the pull of ${familiarForm(named)}`, async (signal) => {
    const store = await openImageStore(invocation);
    const bars = terminalBars(json, invocation);
    let pulled: Pulled;
    try {
      pulled = await pull(reference, {
        ...registry,
        store,
        signal,
        ...(bars === null ? {} : { onProgress: (progress) => bars.update(progress) }),
      });
    } finally {
      bars?.clear();
    }
    const { record, previous, from, failedMirrors } = pulled;
    await store.records.touch(record);
    await store.unpacked.makeReady(record, { durable: true, signal });
    const movedTo = locked ? await movedTag(invocation, named, record.digest, { ...registry, signal }) : null;
    const before = locked || previous === null || previous.digest === record.digest ? null : previous.digest;
    const room = await makeRoom(store, record, ceilingBytes);
    const removed = room.removedImages.map(familiarName);
    for (const { host, reason } of failedMirrors)
      await remark(invocation, `the mirror ${host} was not used: ${reason}`);
    if (before !== null)
      await remark(invocation, `${lockKey(named)} has moved from ${shortDigest(before)}… since it was last pulled`);
    if (removed.length > 0) await remark(invocation, `removed to stay below the ceiling: ${removed.join(", ")}`);
    const image = shownImage(record);
    if (json) {
      const mirrors = { failed_mirrors: failedMirrors };
      const data = { ...image, from, locked, moved_to: movedTo, previous_digest: before, ...mirrors, removed };
      return await writeJson(invocation, { success: true, data });
    }
    const parts = `${image.platform}, ${image.layers} layer${image.layers === 1 ? "" : "s"}, ${sizeText(image.size_bytes)}`;
    const state = from === null ? ", already here" : "";
    return await writeOut(invocation, `${image.reference} ${image.digest} (${parts}${state})\n`);
  });
}

/** Where a locked tag points by now; null where it still points there, or nobody can say. */
async function movedTag(
  invocation: Invocation,
  named: ImageReference,
  held: Digest,
  options: TagOptions,
): Promise<Digest | null> {
  const name = familiarForm(named);
  try {
    const now = await tagDigest(named, { ...options, retry: { attempts: 1 } });
    if (now === held) return null;
    await remark(invocation, `${name} now is ${shortDigest(now)}…; agentkernel.lock holds it to ${shortDigest(held)}…`);
    await remark(invocation, `agentkernel images lock --update ${name} takes the new one`);
    return now;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isAgentKernelError(error)) throw error;
    await remark(invocation, `whether ${name} has moved since it was locked is not known: ${error.message}`);
    return null;
  }
}
