/**
 * Which tools code may call, as a value. Nothing is allowed that no rule allows; what is denied stays so whatever else
 * is said. Pure: whoever holds the calls applies it.
 */
interface ArgumentRule {
  /** Which tools it is about, as a pattern of `server/tool`. */
  readonly tool: string;
  /** The argument, with dots for those within others. */
  readonly argument: string;
  /** Patterns of which its text must fit one. */
  readonly allow: readonly string[];
  /** It may be missing; else a call without it is refused, since the server would choose. */
  readonly optional?: boolean;
}

interface CallLimits {
  /** Of one run. */
  readonly calls: number;
  readonly resultBytes: number;
  /** Of one call. */
  readonly argumentBytes: number;
  readonly oneResultBytes: number;
  /** At work at the same time; more wait. */
  readonly atOnce: number;
}

export interface ToolPolicy {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Each such call is put to the user. */
  readonly ask: readonly string[];
  /** What these answer is marked for whoever reads it. */
  readonly untrusted: readonly string[];
  readonly arguments: readonly ArgumentRule[];
  readonly limits: CallLimits;
}

export const usualLimits: CallLimits = {
  calls: 1000,
  resultBytes: 64 << 20,
  argumentBytes: 1 << 20,
  oneResultBytes: 8 << 20,
  atOnce: 16,
};

export const nothingAllowed: ToolPolicy = {
  allow: [],
  deny: [],
  ask: [],
  untrusted: [],
  arguments: [],
  limits: usualLimits,
};

interface ToolVerdict {
  readonly verdict: "allowed" | "denied" | "ask";
  readonly rule: string;
}

export function decide(policy: ToolPolicy, tool: string, args: unknown): ToolVerdict {
  const denied = matching(policy.deny, tool);
  if (denied !== null) return { verdict: "denied", rule: `deny ${denied}` };
  for (const rule of policy.arguments.filter((one) => fits(one.tool, tool))) {
    const why = whyRefused(rule, args);
    if (why !== null) return { verdict: "denied", rule: why };
  }
  const asked = matching(policy.ask, tool);
  if (asked !== null) return { verdict: "ask", rule: `ask ${asked}` };
  const allowed = matching(policy.allow, tool);
  return allowed === null
    ? { verdict: "denied", rule: "no rule allows it" }
    : { verdict: "allowed", rule: `allow ${allowed}` };
}

export function isUntrusted({ untrusted }: ToolPolicy, tool: string): boolean {
  return matching(untrusted, tool) !== null;
}

/** Whether code could call it at all, whatever the arguments. */
export function mayBeCalled({ allow, ask, deny }: ToolPolicy, tool: string): boolean {
  return matching(deny, tool) === null && matching([...allow, ...ask], tool) !== null;
}

function whyRefused({ argument, allow, optional, tool }: ArgumentRule, args: unknown): string | null {
  const rule = `argument ${argument} of ${tool}`;
  const value = argument.split(".").reduce<unknown>((inner, key) => own(inner, key), args);
  if (value === undefined) return optional === true ? null : `${rule}: it has to be there`;
  const values = Array.isArray(value) ? value : [value];
  const isFit = values.every(
    (one) =>
      ["string", "number", "boolean"].includes(typeof one) && allow.some((pattern) => fits(pattern, String(one))),
  );
  return isFit ? null : `${rule}: only ${allow.join(", ")}`;
}

function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
}

function matching(patterns: readonly string[], text: string): string | null {
  return patterns.find((pattern) => fits(pattern, text)) ?? null;
}

/** `*` is any text. In steps that never go back further than the last star, since both sides may be long. */
export function fits(pattern: string, text: string): boolean {
  let [p, t, star, resume] = [0, 0, -1, 0];
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      resume = t;
    } else if (pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
