/** `images import`: archives, folders, standard input, engines on this machine. */
import { addAbortSignal } from "node:stream";
import { nativeBinary } from "../../core/native-binary.js";
import { importImage, makeRoom, parseReference, parseSource } from "../../images/index.js";
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

/** More are counted, not listed. */
const MAX_SKIPPED_LINES = 5;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const [from = "", name] = wordsOf(parsed, "images import", "a source, and a name for the image", 1, 2);
  const source = parseSource(from);
  const reference = name === undefined ? undefined : parseReference(name);
  const { ceilingBytes } = await imageVerbSettings(parsed, invocation);
  const json = parsed.flags.has("json");
  return await interruptible(invocation, "the import", async (signal) => {
    const store = await openImageStore(invocation);
    const bars = terminalBars(json, invocation);
    const { record, skipped } = await importImage(source, {
      store,
      env: invocation.env,
      stdin: () => standardInput(invocation, signal),
      packBinary: () => nativeBinary("ak-pack"),
      signal,
      ...(reference === undefined ? {} : { reference }),
      ...(bars === null ? {} : { onProgress: (progress) => bars.update(progress) }),
    }).finally(() => bars?.clear());
    await store.unpacked.makeReady(record, { durable: true, signal });
    const { removedImages } = await makeRoom(store, record, ceilingBytes);
    const removed = removedImages.map(familiarName);
    for (const { path, why } of skipped.slice(0, MAX_SKIPPED_LINES))
      await remark(invocation, `left out ${path}: a ${why}`);
    if (skipped.length > MAX_SKIPPED_LINES)
      await remark(invocation, `left out ${skipped.length - MAX_SKIPPED_LINES} more`);
    if (removed.length > 0) await remark(invocation, `removed to stay below the ceiling: ${removed.join(", ")}`);
    const image = shownImage(record);
    if (json) return await writeJson(invocation, { success: true, data: { ...image, skipped, removed } });
    return await writeOut(
      invocation,
      `${image.reference} ${image.digest} (${image.platform}, ${sizeText(image.size_bytes)})\n`,
    );
  });
}

/** A generator, so that the stream has its reader before anything can happen to it. */
async function* standardInput({ stdin }: Invocation, signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
  const input = stdin.open();
  if (input !== null) yield* addAbortSignal(signal, input) as AsyncIterable<Buffer>;
}
