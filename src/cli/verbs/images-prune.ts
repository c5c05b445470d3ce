/** `images prune`: frees room, and says how much. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import type { Invocation } from "../../invocation/index.js";
import { parseSizeMiB, type Range } from "../../policy/resources.js";
import { openImageStore } from "../images/settings.js";
import { familiarName, shownImage } from "../images/shown-record.js";
import { sizeText } from "../images/text.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

const ceilingRange: Range = { min: 0, max: 16 * 1024 * 1024, whole: true, text: "0m to 16t", example: "5g" };
const MS_PER = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const ceiling = parsed.values.get("ceiling")?.[0];
  const olderThan = parsed.values.get("older-than")?.[0];
  const nowMs = Date.now();
  const unusedSinceMs = parsed.flags.has("all")
    ? Number.POSITIVE_INFINITY
    : olderThan === undefined
      ? undefined
      : nowMs - parseAgeMs(olderThan);
  const store = await openImageStore(invocation);
  const { removedImages, removedBlobs, freedBytes, totalBytes } = await store.clear({
    dropPartial: true,
    ...(ceiling === undefined ? {} : { ceilingBytes: parseSizeMiB("--ceiling", ceiling, ceilingRange) * 1024 ** 2 }),
    ...(unusedSinceMs === undefined ? {} : { unusedSinceMs }),
  });
  if (parsed.flags.has("json")) {
    const counts = { removed_blobs: removedBlobs, freed_bytes: freedBytes, total_bytes: totalBytes };
    return await writeJson(invocation, { success: true, data: { removed: removedImages.map(shownImage), ...counts } });
  }
  const lines = removedImages.map((record) => `removed ${familiarName(record)}\n`);
  return await writeOut(invocation, `${lines.join("")}freed ${sizeText(freedBytes)}, ${sizeText(totalBytes)} in use\n`);
}

function parseAgeMs(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined && (unit === "m" || unit === "h" || unit === "d" || unit === "w")) {
    return Number(count) * MS_PER[unit];
  }
  throw new AgentKernelError("invalid_argument", `--older-than: "${escapeText(text)}" is no age`, {
    hint: "write a number with the unit m, h, d or w, such as 30d",
  });
}
