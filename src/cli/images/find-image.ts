/** The images of the store that a user means by a word: a name, or the first digits of a digest. */
import { AgentKernelError } from "../../core/errors.js";
import { escapeText } from "../../core/escape.js";
import { canonicalForm, familiarForm, type ImageRecord, type ListedImage, parseReference } from "../../images/index.js";

const PREFIX = /^(?:sha256:)?([0-9a-f]{6,64})$/;

/** All records of one image: it may be here for several platforms. */
export function imagesMeant(word: string, listed: readonly ListedImage[]): ImageRecord[] {
  const records = listed.map(({ record }) => record);
  const prefix = PREFIX.exec(word)?.[1];
  const byName = word.startsWith("sha256:") || /^[0-9a-f]{64}$/.test(word) ? [] : named(word, records);
  if (byName.length > 0) return byName;
  const byDigest = prefix === undefined ? [] : records.filter((record) => startsWith(record, prefix));
  const names = new Set(byDigest.map(({ reference }) => reference));
  if (names.size > 1) {
    const list = [...names].map((name) => familiarForm(parseReference(name))).join(", ");
    throw new AgentKernelError("invalid_argument", `"${escapeText(word)}" is the start of several images' digests`, {
      hint: `name one of them: ${list}`,
    });
  }
  if (byDigest.length > 0) return byDigest;
  throw new AgentKernelError("not_found", `there is no image "${escapeText(word.slice(0, 100))}" in the store`, {
    hint: "agentkernel images list shows what is there",
  });
}

function named(word: string, records: readonly ImageRecord[]): ImageRecord[] {
  const name = canonicalForm(parseReference(word));
  return records.filter(({ reference }) => reference === name);
}

function startsWith({ digest, manifestDigest }: ImageRecord, prefix: string): boolean {
  return [digest, manifestDigest].some((one) => one.startsWith(`sha256:${prefix}`));
}
