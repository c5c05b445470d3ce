import { describe, expect, test } from "vitest";
import { bashRules, matchingRule } from "./bash-rules.js";

describe("a rule", () => {
  test.each([
    ["git push:*", "git push"],
    ["git push:*", "git push origin main"],
    ["git push:*", "npm test && git push -f"],
    ["git push:*", "cd x; env A=1 timeout 5 git push"],
    ["git push:*", "sh -c 'git push'"],
    ["git push:*", 'bash -lc "true; git push"'],
    ["git push:*", "git 'push'"],
    ["git push:*", "true\ngit push"],
    ["rm -rf *", "rm -rf /"],
    ["git * main", "git push origin main"],
    ["* --version", "node --version"],
    ["ls *", "ls"],
    ["npm test", "npm test"],
  ])("%s matches %j", (pattern, command) => {
    expect(matchingRule([pattern], command)).toBe(pattern);
  });

  test.each([
    ["git push:*", "git pushed"],
    ["git push:*", "git pull"],
    ["git push:*", "echo 'git push'"],
    ["npm test", "npm test -- x"],
    ["ls *", "lsof"],
    ["a.c*", "abc"],
  ])("%s does not match %j", (pattern, command) => {
    expect(matchingRule([pattern], command)).toBeNull();
  });
});

test("rules come from all settings, and only those for single commands of Bash", () => {
  const settings = [
    '{"permissions":{"deny":["Bash(curl:*)","Read(./.env)","Bash",7],"ask":["Bash(git push:*)"]}}',
    '{"permissions":{"deny":["Bash(wget *)"]}}',
    "not JSON",
    '{"permissions":[]}',
  ];
  expect(bashRules(settings)).toEqual({ deny: ["curl:*", "wget *"], ask: ["git push:*"] });
});
