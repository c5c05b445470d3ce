/**
 * Compares what came with what a scenario expects: of an object the fields that are named, of a list each one, and by
 * `$matches`, `$includes` and `$excludes`. Answers with what differs, or null.
 */
export function difference(expected: unknown, actual: unknown, at = "it"): string | null {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return differs(expected, actual, at);
    return first(expected.map((one, index) => difference(one, actual[index], `${at}[${index}]`)));
  }
  if (typeof expected !== "object" || expected === null) {
    return Object.is(expected, actual) ? null : differs(expected, actual, at);
  }
  if ("$matches" in expected) {
    const pattern = new RegExp(String(expected.$matches));
    return typeof actual === "string" && pattern.test(actual) ? null : differs(expected, actual, at);
  }
  if ("$includes" in expected || "$excludes" in expected) {
    if (!Array.isArray(actual)) return differs(expected, actual, at);
    const isRight =
      "$includes" in expected ? actual.includes(expected.$includes) : !actual.includes(expected.$excludes);
    return isRight ? null : differs(expected, actual, at);
  }
  if (typeof actual !== "object" || actual === null) return differs(expected, actual, at);
  const fields = actual as Readonly<Record<string, unknown>>;
  return first(Object.entries(expected).map(([key, inner]) => difference(inner, fields[key], `${at}.${key}`)));
}

type Event = Readonly<Record<string, unknown>>;

/** Output of one stream that came in several pieces, as one. Only the exact bytes of all pieces can be joined so. */
export function joinOutput(events: readonly Event[]): readonly Event[] {
  const joined: Event[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (last?.type === event.type && typeof last?.text === "string" && typeof event.text === "string") {
      joined[joined.length - 1] = { ...last, text: last.text + event.text };
    } else {
      joined.push(event);
    }
  }
  return joined;
}

function first(differences: readonly (string | null)[]): string | null {
  return differences.find((one) => one !== null) ?? null;
}

function differs(expected: unknown, actual: unknown, at: string): string {
  return `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
}
