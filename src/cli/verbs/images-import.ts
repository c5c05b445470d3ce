/** `images import`: archives, folders, standard input, engines on this machine. */
import { addAbortSignal } from "node:stream";
import { nativeBinary } from "../../core/native-binary.js";
import { importImage, makeRoom, parseReference, parseSource } from "../../images/index.js";
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

export async function execute(parsed: ParsedOptions): Promise<number> {
  const [from = "", name] = wordsOf(parsed, "images import", "a source, and a name for the image", 1, 2);
  const source = parseSource(from);
  const reference = name === undefined ? undefined : parseReference(name);
  const { surroundings, ceilingBytes } = await imageVerbSettings(parsed);
  const json = parsed.flags.has("json");
  return await interruptible("the import", async (signal) => {
    const store = await openImageStore(surroundings);
    const bars = terminalBars(json);
    const { record, skipped } = await importImage(source, {
      store,
      env: surroundings.env,
      stdin: () => standardInput(signal),
      packBinary: () => nativeBinary("ak-pack"),
      signal,
      ...(reference === undefined ? {} : { reference }),
      ...(bars === null ? {} : { onProgress: (progress) => bars.update(progress) }),
    }).finally(() => bars?.clear());
    await store.unpacked.makeReady(record, { durable: true, signal });
    const { removedImages } = await makeRoom(store, record, ceilingBytes);
    const removed = removedImages.map(familiarName);
    for (const { path, why } of skipped.slice(0, MAX_SKIPPED_LINES)) await remark(`left out ${path}: a ${why}`);
    if (skipped.length > MAX_SKIPPED_LINES) await remark(`left out ${skipped.length - MAX_SKIPPED_LINES} more`);
    if (removed.length > 0) await remark(`removed to stay below the ceiling: ${removed.join(", ")}`);
    const image = shownImage(record);
    if (json) return await writeJson({ success: true, data: { ...image, skipped, removed } });
    return await writeOut(`${image.reference} ${image.digest} (${image.platform}, ${sizeText(image.size_bytes)})\n`);
  });
}

/** A generator, so that the stream has its reader before anything can happen to it. */
async function* standardInput(signal: AbortSignal): AsyncGenerator<Buffer, void, void> {
  yield* addAbortSignal(signal, process.stdin) as AsyncIterable<Buffer>;
}
