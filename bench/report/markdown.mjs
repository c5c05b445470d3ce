/** A report as BENCHMARK.md has it: first where we win and lose, then every figure, then the machine. */
import { fieldOf, isMet, measuredBy, round, units } from "./table.mjs";
import { comparisons, inWords } from "./verdict.mjs";

export function markdown(report, plots) {
  const compared = comparisons(report.figures);
  return `${[
    "# Benchmark",
    "",
    ...verdictLines(compared, "win", "We win"),
    ...verdictLines(compared, "lose", "We lose"),
    ...verdictLines(compared, "even", "No difference that the samples show"),
    ...verdictLines(compared, "floor", "Against the floor, which has no sandbox or hardly one"),
    `${report.quick ? "A quick run" : "A whole run"} of \`npm run bench\` on ${report.at.slice(0, 10)}, ${(report.seconds / 60).toFixed(1)} minutes. Each ratio is our median over the other's, with the interval that holds it in 95 of 100 draws (bootstrap); both sides were measured in turn, in random order, after a warm-up.`,
    "",
    ...plots.flatMap(({ title, file }) => [`![${title}](docs/bench/${file})`, ""]),
    "## Against others",
    ...tableOf(
      ["what", "against", "ratio", "95 %", "ours p50 / p95 / p99 ms", "theirs p50 / p95 / p99 ms"],
      compared.map(({ ours, rival, ratio, interval, subject, reference }) => [
        ours,
        rival,
        `${round(ratio)} ×`,
        intervalText(interval),
        times(subject),
        times(reference),
      ]),
    ),
    "",
    "## Promises",
    ...tableOf(["figure", "measured", "95 %", "at most", "", "what"], report.figures.map(promiseRow)),
    "",
    ...series(report.figures),
    "## Not measured here",
    ...list(leftOut(report)),
    "",
    "## Machine",
    ...list(machineLines(report)),
  ].join("\n")}\n`;
}

function verdictLines(compared, verdict, title) {
  const some = compared.filter((one) => one.verdict === verdict).sort((a, b) => a.ratio - b.ratio);
  if (some.length === 0) return [`**${title}:** nowhere.`, ""];
  return [`**${title}:**`, ...some.map(verdictLine), ""];
}

function verdictLine(one) {
  const said = `- ${one.ours} against ${one.rival}: ${round(one.ratio)} × (${intervalText(one.interval)})`;
  return one.verdict === "even" ? said : `${said}, ${inWords(one)}`;
}

function promiseRow({ name, promise, limit, result }) {
  const field = fieldOf({ limit, result });
  const value = measuredBy(result, field);
  const met = isMet({ limit, result });
  return [
    `\`${name}\``,
    value === undefined ? "" : `${round(value)} ${units[field]}`,
    result.interval && field === "ratio" ? intervalText(result.interval) : "",
    limit === null ? "" : `${limit[field]} ${units[field]}`,
    met === null ? "" : met ? "met" : "not met",
    promise,
  ];
}

/** Figures that have a value for each of several cases. */
function series(figures) {
  return figures
    .filter(({ result }) => result.series !== undefined)
    .flatMap(({ promise, result }) => [
      `## ${promise[0].toUpperCase()}${promise.slice(1)}`,
      ...tableOf(
        ["case", "p50 ms", "beside p50 ms", "ratio", "95 %"],
        result.series.map(({ at, subject, reference, ratio, interval }) => [
          String(at),
          round(subject.p50Ms),
          round(reference.p50Ms),
          `${round(ratio)} ×`,
          intervalText(interval),
        ]),
      ),
      "",
    ]);
}

function leftOut({ figures, skipped, failed }) {
  const whole = [...skipped, ...failed].map(({ name, reason }) => `\`${name}\`: ${reason}`);
  const parts = figures.flatMap(({ name, result }) =>
    Object.entries(result.skipped ?? {}).map(([part, reason]) => `${part} in \`${name}\`: ${reason}`),
  );
  return whole.length + parts.length === 0 ? ["everything was"] : [...whole, ...parts];
}

function machineLines({ environment, load }) {
  const { kernel, cpu, cores, memoryMiB, cgroup, node, isRoot, rivals } = environment;
  const versions = Object.entries(rivals).map(([name, version]) => `${name} ${version ?? "(none)"}`);
  return [
    `Linux ${kernel}, cgroup ${cgroup}, as ${isRoot ? "root" : "an ordinary user"}`,
    `${cpu}, ${cores} cores, ${memoryMiB} MiB`,
    `Node ${node}; ${versions.join(", ")}`,
    `load average ${load.start.toFixed(1)} at the start, ${load.end.toFixed(1)} at the end`,
  ];
}

function times(side) {
  if (side?.p99Ms === undefined) return "";
  return [side.p50Ms, side.p95Ms, side.p99Ms].map(round).join(" / ");
}

function intervalText([low, high]) {
  return `${round(low)}–${round(high)}`;
}

function tableOf(heads, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)];
}

function list(items) {
  return items.map((item) => `- ${item}`);
}
