/** The table of README.md that a report fills: between two marks, so that the rest of the page is nobody's but its writers'. */
import { round } from "./table.mjs";
import { comparisons, inWords } from "./verdict.mjs";

export const BEGIN = "<!-- figures: written by npm run bench -- --write -->";
export const END = "<!-- end of figures -->";
const shown = [
  "run-beside-all",
  "first-byte",
  "exec-beside-all",
  "create-use-destroy",
  "egress-bulk-srt",
  "image-pull",
];

export function withTable(page, report) {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error("README.md has lost the marks around its figures");
  return `${page.slice(0, from + BEGIN.length)}\n${tableText(report)}\n${page.slice(to)}`;
}

function tableText({ figures, environment, load, at }) {
  const rows = comparisons(figures.filter(({ name }) => shown.includes(name))).map((one) => {
    const [low, high] = one.interval.map(round);
    return `| ${one.ours} | ${one.rival} | ${round(one.ratio)} × | ${low}–${high} | ${inWords(one)} |`;
  });
  const machine = `${environment.cores} cores, Linux ${environment.kernel}, load ${load.start.toFixed(1)} to ${load.end.toFixed(1)}, ${at.slice(0, 10)}`;
  return ["| what | against | ratio | 95 % | |", "| --- | --- | --- | --- | --- |", ...rows, "", `(${machine})`].join(
    "\n",
  );
}
