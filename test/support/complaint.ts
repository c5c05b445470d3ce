/** What every error of ours looks like on stderr: one sentence, a hint, no stack. */
import { expect } from "vitest";

/** Lines that say what a sandbox is like here, and that come with success as well. */
const REMARK =
  /^agentkernel: (cgroup|protected-paths|landlock|network "|the audit log could not|\d+ files? hidden|\d+ of them)/;

export function expectComplaint(stderr: string, sentence: RegExp, hint: RegExp | null = /./): void {
  const lines = stderr.split("\n").filter((line) => line !== "" && !REMARK.test(line));
  expect(lines[0], stderr).toMatch(/^agentkernel: \S/);
  expect(lines[0], stderr).toMatch(sentence);
  expect(lines.slice(1), stderr).toEqual(hint === null ? [] : [expect.stringMatching(/^ {2}hint: \S/)]);
  if (hint !== null) expect(lines[1], stderr).toMatch(hint);
  expect(stderr).not.toMatch(/^\s+at .*:\d+:\d+|fault of agentkernel|node:internal/m);
}
