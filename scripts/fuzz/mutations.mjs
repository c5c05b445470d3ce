// Changes inputs at random: bits, numbers, pieces, words of the dictionary, and parts of other inputs.
import { Buffer } from "node:buffer";

/** mulberry32: the same numbers for the same seed. */
export function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const ODD_BYTES = [0, 1, 0x7f, 0x80, 0xff, 10, 13, 32, 34, 44, 45, 58, 61, 91, 92, 93, 123, 125];

const splice = (bytes, from, to, insert) =>
  Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(Math.max(from, to))]);

const kinds = [
  (bytes, random) => changed(bytes, random, (byte) => byte ^ (1 << random(8))),
  (bytes, random) => changed(bytes, random, () => random(256)),
  (bytes, random) => changed(bytes, random, (byte) => byte + random(9) - 4),
  (bytes, random) => changed(bytes, random, () => ODD_BYTES[random(ODD_BYTES.length)]),
  // Less of it.
  (bytes, random) => {
    const from = random(bytes.length + 1);
    return splice(bytes, from, from + 1 + random(1 + random(bytes.length + 1)), Buffer.alloc(0));
  },
  // A part once more, somewhere.
  (bytes, random) => {
    const from = random(bytes.length + 1);
    const part = bytes.subarray(from, from + 1 + random(64));
    const at = random(bytes.length + 1);
    return splice(bytes, at, random(2) === 0 ? at : at + part.length, part);
  },
  (bytes, random) => {
    const at = random(bytes.length + 1);
    return splice(bytes, at, at, Buffer.alloc(1 + random(random(20) === 0 ? 400 : 8), random(256)));
  },
  // A word, put in or over what is there.
  (bytes, random, { words }) => {
    if (words.length === 0) return bytes;
    const word = words[random(words.length)];
    const at = random(bytes.length + 1);
    return splice(bytes, at, random(2) === 0 ? at : at + word.length, word);
  },
  // A part of another input.
  (bytes, random, { others }) => {
    const other = others[random(others.length)];
    const from = random(other.length + 1);
    const part = other.subarray(from, from + 1 + random(other.length + 1));
    const at = random(bytes.length + 1);
    return splice(bytes, at, random(2) === 0 ? at : at + part.length, part);
  },
];

function changed(bytes, random, change) {
  if (bytes.length === 0) return Buffer.from([random(256)]);
  const copy = Buffer.from(bytes);
  const at = random(copy.length);
  copy[at] = change(copy[at]) & 0xff;
  return copy;
}

/** `material` has `words` and `others`, which are buffers; there is at least one of the others. */
export function mutated(bytes, random, material, maxBytes) {
  let result = bytes;
  for (let times = 1 + random(4); times > 0; times--) result = kinds[random(kinds.length)](result, random, material);
  return result.subarray(0, maxBytes);
}
