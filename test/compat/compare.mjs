/** Results of a place against those outside, and differences against those that are expected. Pure. */

/** @typedef {{ test: string, outside: string, inside: string }} Difference */

/** Tests that pass outside and not inside. One that did not come to an end is `missing`. */
export function differences(outside, inside) {
  return [...outside].flatMap(([test, what]) => {
    const there = inside.get(test) ?? "missing";
    return what === "pass" && there !== "pass" ? [{ test, outside: what, inside: there }] : [];
  });
}

/**
 * `expected`: entries of the suite and the place, whose `tests` are patterns of whole ids.
 * @returns the differences that nothing explains, and the entries that explain nothing among the parts that ran
 */
export function unexplained(found, expected, { isWhole }) {
  const used = new Set();
  const news = found.filter(({ test }) => {
    const entry = expected.find(({ tests }) => tests.some((pattern) => new RegExp(`^(?:${pattern})$`).test(test)));
    if (entry !== undefined) used.add(entry);
    return entry === undefined;
  });
  return { news, stale: isWhole ? expected.filter((entry) => !used.has(entry)) : [] };
}

export function counts(results) {
  const all = { pass: 0, fail: 0, skip: 0 };
  for (const what of results.values()) all[what] += 1;
  return all;
}
