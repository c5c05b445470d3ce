/**
 * How sure a ratio of medians is: both sides are drawn anew from their own samples, with putting back, many times over,
 * and the middle 95 % of the ratios is the interval. The draws are the same for the same samples.
 */
const DRAWS = 1000;
const TAIL = 0.025;

export function ratioInterval(subject, reference) {
  const random = randomFrom(0x5eed);
  const ratios = Array.from({ length: DRAWS }, () => drawnMedian(subject, random) / drawnMedian(reference, random));
  ratios.sort((a, b) => a - b);
  return [ratios[Math.floor(DRAWS * TAIL)], ratios[Math.ceil(DRAWS * (1 - TAIL)) - 1]];
}

function drawnMedian(values, random) {
  const drawn = Float64Array.from(values, () => values[Math.floor(random() * values.length)]).sort();
  const middle = drawn.length >> 1;
  return drawn.length % 2 === 1 ? drawn[middle] : (drawn[middle - 1] + drawn[middle]) / 2;
}

/** xorshift32: between 0 and 1. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
