import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { globCovers, globMatches, globMayConcern, globRemainders, segmentMatches, whyInvalidGlob } from "./glob.js";
import { builtInHideRules } from "./hidden.js";
import { builtInProtectGlobs } from "./protected.js";
import { builtInReviewGlobs } from "./review.js";

const path = (text: string) => text.split("/");

describe("the grammar", () => {
  test.each([
    ["", "empty"],
    ["/etc", "starts with /"],
    ["a//b", "empty segment"],
    ["a/", "empty segment"],
    ["../a", ".."],
    ["a/./b", "the segment ."],
    ["a**", "** inside a segment"],
    ["**/*.{pem,key}", "{"],
    ["[ab]", "["],
    ["a\\*", "\\"],
    ["!a", "starts with !"],
    ["**", "matches everything"],
    ["**/**", "matches everything"],
    ["a\nb", "control character"],
    ["a".repeat(2000), "longer"],
  ])("refuses %j", (glob, reason) => {
    expect(whyInvalidGlob(glob)).toContain(reason);
  });

  test("accepts every built-in glob, and each of those reaches any depth", () => {
    for (const glob of [...builtInHideRules.map((rule) => rule.glob), ...builtInProtectGlobs, ...builtInReviewGlobs]) {
      expect(whyInvalidGlob(glob)).toBeNull();
      // Of a repository that is shown as a directory of its own.
      expect(glob === "config" || glob.startsWith("**/"), glob).toBe(true);
    }
  });
});

describe("matching", () => {
  test.each([
    ["**/.env*", ".env", true],
    ["**/.env*", "a/b/.env.local", true],
    ["**/.env*", "env", false],
    ["**/.env*", "a.env", false],
    ["**/*.pem", "deep/er/x.pem", true],
    ["**/*.pem", "x.pem.txt", false],
    ["a/*/c", "a/b/c", true],
    ["a/*/c", "a/b/b/c", false],
    ["a/**/c", "a/c", true],
    ["a/**/c", "a/b/b/c", true],
    ["a/**", "a/b", true],
    ["?.txt", "a.txt", true],
    ["?.txt", "ab.txt", false],
    [".git/hooks", "sub/.git/hooks", false],
    ["**/.git/hooks", "sub/.git/hooks", true],
    ["**/.ssh", ".SSH", true],
  ])("%s on %s is %s", (glob, name, expected) => {
    expect(globMatches(glob, path(name))).toBe(expected);
  });

  test("agrees with a regular expression on single segments, in each spelling of the name", () => {
    const anyPattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 10 });
    const anyName = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 10 });
    fc.assert(
      fc.property(anyPattern, anyName, (pattern, name) => {
        const source = pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
        const expression = new RegExp(`^${source}$`);
        const withoutDots = name.replace(/\.+$/, "");
        expect(segmentMatches(pattern, name)).toBe(
          expression.test(name) || (withoutDots !== "" && expression.test(withoutDots)),
        );
      }),
    );
  });

  test("does not slow down on patterns that make naive matchers explode", () => {
    expect(globMatches(`${"**/".repeat(30)}x`, Array(200).fill("a"))).toBe(false);
    expect(segmentMatches("*a".repeat(40), "a".repeat(39))).toBe(false);
  });

  test("a hidden folder covers what is in it", () => {
    expect(globCovers("**/.ssh", path("home/u/.ssh/config"))).toBe(true);
    expect(globCovers("**/.ssh", path("home/u/ssh/config"))).toBe(false);
  });

  test("the quick no is never wrong", () => {
    const anyName = fc.constantFrom("a", "b", ".config", "gh", "x");
    const anyGlob = fc.array(fc.constantFrom("**", "*", "a", "?", ".config", "gh"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(anyGlob, fc.array(anyName, { minLength: 1, maxLength: 5 }), (segments, names) => {
        const glob = `**/${segments.join("/")}`;
        if (globMayConcern(glob, names)) return;
        expect(globCovers(glob, names)).toBe(false);
        expect(globRemainders(glob, names)).toEqual([]);
      }),
    );
  });

  test("what is left of a glob below a folder that used up its first names", () => {
    expect(globRemainders("**/.config/gh/hosts.yml", path("home/u/.config"))).toEqual(["gh/hosts.yml"]);
    expect(globRemainders("**/.config/gh/hosts.yml", path("home/u/.config/gh"))).toEqual(["hosts.yml"]);
    expect(globRemainders("**/.config/gh/hosts.yml", path("home/u"))).toEqual([]);
    expect(globRemainders("**/.ssh", path("home/u"))).toEqual([]);
  });
});

describe("the built-in lists", () => {
  const rulesFor = (name: string) => builtInHideRules.filter((rule) => globCovers(rule.glob, path(name)));
  const isHiddenByName = (name: string) => rulesFor(name).some((rule) => rule.holds === undefined);
  const isProtected = (name: string) => builtInProtectGlobs.some((glob) => globCovers(glob, path(name)));

  test.each([
    ".env",
    ".env.production",
    "packages/api/.env.local",
    "prod.env",
    ".dev.vars",
    ".ssh/config",
    ".aws/credentials",
    ".kube/config",
    ".gnupg/secring.gpg",
    ".config/gcloud/credentials.db",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".bash_history",
    ".local/share/keyrings/login.keyring",
    "infra/terraform.tfstate",
    "infra/terraform.tfstate.backup",
  ])("hides %s by its name", (name) => expect(isHiddenByName(name)).toBe(true));

  test.each([
    ["server.pem", "private-key"],
    ["tls/server.key", "private-key"],
    ["id_rsa", "private-key"],
    ["keys/id_ed25519", "private-key"],
    ["id_generator.py", "private-key"],
    ["a/.npmrc", "credential"],
    [".docker/config.json", "credential"],
    [".cargo/credentials.toml", "credential"],
    ["terraform.tfvars", "credential"],
    [".netrc", "login"],
    [".git/config", "remote"],
  ])("hides %s only if it holds a %s", (name, content) => {
    expect(rulesFor(name).map((rule) => rule.holds)).toContain(content);
    expect(isHiddenByName(name)).toBe(false);
  });

  test.each([
    "package.json",
    "src/index.ts",
    "environment.ts",
    "README.md",
    ".git/HEAD",
    ".claude/commands/a.md",
    "keys.ts",
  ])("does not concern %s", (name) => expect(rulesFor(name)).toEqual([]));

  test("every built-in rule says why, and its last name has a fixed start or end", () => {
    for (const { glob, reason } of builtInHideRules) {
      expect(reason, glob).toBeTruthy();
      expect(glob.split("/").at(-1), glob).not.toMatch(/^\*.*\*$/);
    }
  });

  test.each([
    ".git/hooks/pre-commit",
    ".git/config",
    "vendor/lib/.git/hooks/post-checkout",
    ".git/modules/a/b/hooks/x",
    ".git/modules/a/commondir",
    ".git/modules/a/config.worktree",
    ".git/worktrees/w/commondir",
    ".git/worktrees/w/config.worktree",
    ".git/worktrees/w/gitdir",
    ".git/modules/a/worktrees/w/commondir",
    "anywhere/commondir",
    ".git/info/exclude",
    ".git/info/grafts",
    ".git/refs/replace/0123456789",
    ".git/modules/a/info/attributes",
    ".git/modules/a/refs/replace/0123456789",
    ".hg/hgrc",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".kiro/settings/mcp.json",
    ".roo/mcp.json",
    ".windsurf/mcp_config.json",
    ".amazonq/mcp.json",
    "node_modules/.bin/git",
    "packages/a/node_modules/.bin/agentkernel.cmd",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".mcp.json",
    "agentkernel.toml",
    "sandbox.policy.yaml",
    "ci/strict.policy.yml",
  ])("protects %s", (name) => expect(isProtected(name)).toBe(true));

  test.each([
    ".git/HEAD",
    ".git/objects/aa",
    ".git/worktrees/w/HEAD",
    ".vscode/snippets.json",
    ".git/refs/heads/replace",
    ".hg/store/data/a",
    ".jj/repo/store/a",
    "node_modules/.bin/tsc",
    "node_modules/.bin/git-cz",
    "hooks/x",
    "policy.yaml",
    "src/a.ts",
  ])("leaves %s writable", (name) => expect(isProtected(name)).toBe(false));
});
