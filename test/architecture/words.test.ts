import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

interface Banned {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Words of an interface that other programs read: they stay. */
  readonly except?: readonly string[];
}

/** Words that a reader would not search for, and those that the field has (CONTRIBUTING.md, Words). */
const banned: readonly Banned[] = [
  { pattern: /wish/i, instead: "request, options" },
  { pattern: /\bhappening/i, instead: "event" },
  { pattern: /attendance/i, instead: "approvers" },
  { pattern: /\bheed[A-Z]/, instead: "remember" },
  { pattern: /untold/i, instead: "inconclusive" },
  { pattern: /oneself/i, instead: "private" },
  {
    pattern: /foresee/i,
    instead: "prescan",
    except: ["src/backends/linux/jail-spec", "src/backends/linux/warm-jail.ts"],
  },
  { pattern: /errand/i, instead: "task", except: ["src/backends/microvm/persistent/task.ts"] },
  { pattern: /\bpulse/i, instead: "heartbeat" },
  { pattern: /\bdeeds?\b/i, instead: "action" },
  { pattern: /\bfurniture\b/i, instead: "the thing's own name" },
  { pattern: /\bknock/i, instead: "connect" },
  { pattern: /\b(?:interface|type|class) (?:Told|Asked|Answered)\b/, instead: "a noun for what it holds" },
  { pattern: /\b(?:interface|type|class) (?!GuestChannel)\w+Home\b/, instead: "context" },
  { pattern: /\bKept(?:Backend|Sandbox|Copies|Changes)\b/, instead: "persistent sandbox" },
];

const sources = new Map(filesUnder("src", ".ts").map((path) => [path, readFileSync(path, "utf8")]));

function faultsOf({ pattern, instead, except = [] }: Banned, files: ReadonlyMap<string, string>): string[] {
  return [...files]
    .filter(([path]) => !except.some((start) => path.startsWith(start)))
    .flatMap(([path, text]) =>
      text
        .split("\n")
        .flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: say ${instead}: ${line.trim()}`] : [])),
    );
}

describe("the sources use the words of the field", () => {
  it.each(banned)("$instead, not $pattern", (rule) => {
    expect(faultsOf(rule, sources)).toEqual([]);
  });

  it("and every exception is still needed", () => {
    const unused = banned.flatMap(({ pattern, except = [] }) =>
      except.filter((start) => ![...sources].some(([path, text]) => path.startsWith(start) && pattern.test(text))),
    );
    expect(unused).toEqual([]);
  });

  it("and a banned one is noticed", () => {
    const files = new Map([["src/a.ts", "/** What somebody wishes. */\n"]]);
    expect(banned.flatMap((rule) => faultsOf(rule, files))).toHaveLength(1);
  });
});
