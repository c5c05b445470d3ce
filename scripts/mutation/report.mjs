// What Stryker reports, as a share and the survivors. Pure.

/** Killed is a mutant that a test noticed, by an assertion or by not ending. One that no test reaches survives. */
const noticed = ["Killed", "Timeout"];
const unnoticed = ["Survived", "NoCoverage"];

/** @param report of the mutation testing report schema, version 1 and 2 */
export function judge(report) {
  const mutants = Object.entries(report.files).flatMap(([file, { source, mutants: all }]) =>
    all.map((one) => ({ ...one, file, original: textAt(source, one.location) })),
  );
  const count = (states) => mutants.filter(({ status }) => states.includes(status)).length;
  const killed = count(noticed);
  const judged = killed + count(unnoticed);
  return {
    killed,
    judged,
    percent: judged === 0 ? 0 : (100 * killed) / judged,
    survivors: mutants
      .filter(({ status }) => unnoticed.includes(status))
      .sort((one, other) => one.file.localeCompare(other.file) || one.location.start.line - other.location.start.line)
      .map(({ file, location, original, replacement, status }) => ({
        place: `${file}:${location.start.line}`,
        change: `${shown(original)} → ${shown(replacement ?? "")}`,
        isReached: status === "Survived",
      })),
  };
}

function textAt(source, { start, end }) {
  const lines = source.split("\n").slice(start.line - 1, end.line);
  if (lines.length === 0) return "";
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1);
  lines[0] = lines[0].slice(start.column - 1);
  return lines.join("\n");
}

function shown(code) {
  const line = code.replace(/\s+/g, " ").trim();
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
