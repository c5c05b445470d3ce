/** A record as programs and people are shown it. */
import { escapeText } from "../../core/escape.js";
import { familiarForm, type ImageRecord, type PinUser, parseReference } from "../../images/index.js";

interface ShownImage {
  readonly reference: string;
  readonly digest: string;
  readonly manifest_digest: string;
  readonly platform: string;
  readonly size_bytes: number;
  readonly layers: number;
}

export function shownImage(record: ImageRecord): ShownImage {
  const layerBytes = record.layers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return {
    reference: familiarName(record),
    digest: record.digest,
    manifest_digest: record.manifestDigest,
    platform: record.platform,
    size_bytes: record.config.sizeBytes + layerBytes,
    layers: record.layers.length,
  };
}

export function familiarName({ reference }: ImageRecord): string {
  return familiarForm(parseReference(reference));
}

export function userText(user: PinUser): string {
  return typeof user === "number" ? `process ${user}` : `sandbox ${escapeText(user)}`;
}
