/** Where we win, where we lose and by how much: every comparison of a report, and what its interval says. */
import { planOf } from "../plan.mjs";

/** What nobody who isolates anything can be below. */
const floor = new Set(["true", "unshare", "node -e 0", "a plain pipe", "no sandbox"]);
/** Columns that are ours too. */
const isOurs = (name) => name.startsWith("ours") || name.startsWith("`");

export function comparisons(figures) {
  return figures.flatMap(({ name, result }) => {
    const { ours, rival } = planOf({ name });
    const all = Object.entries(result.beside ?? {}).filter(([other]) => !isOurs(other));
    if (rival !== null && result.interval !== undefined) all.push([rival, result]);
    return all.map(([other, { ratio, interval, reference, ...sides }]) => ({
      figure: name,
      ours,
      rival: other,
      ratio,
      interval,
      verdict: verdictOn(other, interval),
      subject: result.subject,
      reference: reference ?? sides,
    }));
  });
}

function verdictOn(rival, [low, high]) {
  if (floor.has(rival)) return "floor";
  if (high < 1) return "win";
  return low > 1 ? "lose" : "even";
}

/** "36 times faster", "1.5 times as slow". */
export function inWords({ ratio }) {
  return ratio < 1 ? `${factor(1 / ratio)} times faster` : `${factor(ratio)} times as long`;
}

function factor(value) {
  return value >= 10 ? value.toFixed(0) : value.toFixed(1);
}
