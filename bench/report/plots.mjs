/** Which figures have a picture, and what is in it. A figure that was not taken has none. */
import { bars } from "./bars.mjs";

const titles = {
  "run-beside-all": "run true in something fresh (median, line to p99)",
  "first-byte": "echo in something fresh, until its first byte (median, line to p99)",
  "exec-beside-all": "a command in something that runs already (median, line to p99)",
  parallel: "so many at once, until the last has ended (median)",
  "beside-bombs": "run true while another sandbox does its worst (median, line to p99)",
  growth: "run true with little and with much of something (median, line to p99)",
};

export function plotsOf(figures) {
  return figures
    .filter(({ name }) => titles[name] !== undefined)
    .map(({ name, result }) => {
      const title = titles[name];
      const rows = result.series === undefined ? besideRows(result) : seriesRows(result);
      return { title, file: `${name}.svg`, svg: bars({ title, unit: "ms", rows }) };
    });
}

function besideRows({ subject, beside }) {
  const row = (label, { p50Ms, p99Ms }, isOurs) => ({ label, value: p50Ms, upTo: p99Ms, isOurs });
  const others = Object.entries(beside).map(([name, side]) => row(name, side, /^(ours|`)/.test(name)));
  return [row("agentkernel", subject, true), ...others].sort((a, b) => a.value - b.value);
}

function seriesRows({ series }) {
  return series.flatMap(({ at, subject, reference, names }) => [
    { label: `${at}: ${names.subject}`, value: subject.p50Ms, upTo: subject.p99Ms, isOurs: true },
    { label: names.reference, value: reference.p50Ms, upTo: reference.p99Ms, isOurs: false },
  ]);
}
