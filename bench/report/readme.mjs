/** The table of README.md that a report fills: between two marks, so that the rest of the page is nobody's but its writers'. */
import { round } from "./table.mjs";
import { comparisons, inWords } from "./verdict.mjs";

export const BEGIN = "<!-- figures: written by npm run bench -- --write -->";
export const END = "<!-- end of figures -->";
/** The six that a user asks for first: figure → rivals. BENCHMARK.md has all. */
const shown = {
  "run-beside-all": ["bwrap", "podman", "docker"],
  "exec-beside-all": ["docker exec"],
  "create-use-destroy": ["docker"],
  "image-pull": ["podman pull"],
};

export function withTable(page, report) {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error("README.md has lost the marks around its figures");
  return `${page.slice(0, from + BEGIN.length)}\n${tableText(report)}\n${page.slice(to)}`;
}

function tableText({ figures, environment, load, at }) {
  const isShown = ({ figure, rival }) => shown[figure]?.includes(rival) === true;
  const rows = comparisons(figures)
    .filter(isShown)
    .map((one) => `| ${one.ours} | ${one.rival} | ${round(one.ratio)} × | ${inWords(one)} |`);
  const machine = `${environment.cores} cores, Linux ${environment.kernel}, load ${load.start.toFixed(1)} to ${load.end.toFixed(1)}, ${at.slice(0, 10)}`;
  return ["| what | against | ratio | |", "| --- | --- | --- | --- |", ...rows, "", `(${machine})`].join("\n");
}
