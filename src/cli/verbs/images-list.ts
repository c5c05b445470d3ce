/** `images list`: what is in the store, how large, how old, and who uses it. */
import { type ListedImage, type PinUser, parseReference, shortDigest } from "../../images/index.js";
import type { Invocation } from "../../invocation/index.js";
import { openImageStore } from "../images/settings.js";
import { familiarName, shownImage, userText } from "../images/shown-record.js";
import { ageText, sizeText, tableText } from "../images/text.js";
import type { ParsedOptions } from "../option-spec.js";
import { writeJson, writeOut } from "../output.js";

interface Row extends ListedImage {
  readonly usedBy: readonly PinUser[];
}

export async function execute(parsed: ParsedOptions, invocation: Invocation): Promise<number> {
  const store = await openImageStore(invocation);
  const users = await store.users();
  const rows: Row[] = (await store.list()).map((image) => ({
    ...image,
    usedBy: [...new Set(users.get(image.record.manifestDigest) ?? [])],
  }));
  if (parsed.flags.has("json")) return await writeJson(invocation, { success: true, data: rows.map(jsonRow) });
  if (rows.length === 0) return await writeOut(invocation, "no images; agentkernel images pull NAME brings one\n");
  const head = ["NAME", "TAG", "DIGEST", "PLATFORM", "SIZE", "UNPACKED", "AGE", "LAST USED", "IN USE BY"];
  return await writeOut(invocation, tableText([head, ...rows.map((row) => textRow(row, Date.now()))]));
}

function jsonRow({ record, sizeBytes, unpackedBytes, lastUsedMs, whole, usedBy }: Row): object {
  return {
    ...shownImage(record),
    size_bytes: sizeBytes,
    unpacked_bytes: unpackedBytes,
    pulled_at: record.pulledAt,
    last_used_at: new Date(lastUsedMs).toISOString(),
    whole,
    in_use_by: usedBy,
  };
}

function textRow(
  { record, sizeBytes, unpackedBytes, pulledAtMs, lastUsedMs, whole, usedBy }: Row,
  nowMs: number,
): string[] {
  const { tag } = parseReference(record.reference);
  const suffix = record.reference.slice(record.reference.indexOf(`:${tag}`));
  const name = familiarName(record);
  return [
    tag === null ? (name.split("@", 1)[0] ?? name) : name.slice(0, name.length - suffix.length),
    tag ?? "-",
    shortDigest(record.digest),
    record.platform,
    whole ? sizeText(sizeBytes) : "incomplete",
    unpackedBytes === null ? "-" : sizeText(unpackedBytes),
    ageText(nowMs - pulledAtMs),
    ageText(nowMs - lastUsedMs),
    usedBy.length === 0 ? "-" : usedBy.map(userText).join(", "),
  ];
}
