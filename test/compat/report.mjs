/** The page docs/what-works-inside.md. Pure. */

export function page(ran, entries) {
  const rows = ran.flatMap(({ suite, version, rows: of }) =>
    of.map(({ place, counts: { pass, fail, skip }, explained, news }) =>
      row([`${suite.title} ${version}`, place.title, pass, fail, skip, explained + news.length]),
    ),
  );
  const reasons = entries.map(({ suite, place, tests, reason }) => row([suite, place, String(tests.length), reason]));
  return [
    "# What works inside",
    "",
    "Test suites that others wrote, on one machine, outside of any sandbox and inside. A difference is a test that passes outside and not inside, both times that it was tried. `npm run compat -- --write` wrote this page; [test/compat](../test/compat/README.md) has the details.",
    "",
    row(["suite", "where", "passed", "failed", "skipped", "differences"]),
    row(["---", "---", "---", "---", "---", "---"]),
    ...rows,
    "",
    "Every difference has a reason, or the run is red:",
    "",
    row(["suite", "where", "patterns", "reason"]),
    row(["---", "---", "---", "---"]),
    ...reasons,
    "",
  ].join("\n");
}

function row(cells) {
  return `| ${cells.join(" | ")} |`;
}
