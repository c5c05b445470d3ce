import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bashRules, judge } from "./bash-rules.js";

const denies = (pattern: string, command: string) => judge({ deny: [pattern], ask: [], allow: [] }, command).verdict;

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
    ["rm -rf *", "rm -rf *"],
    ["git * main", "git push origin main"],
    ["* --version", "node --version"],
    ["ls *", "ls"],
    ["npm test", "npm test"],
  ])("%s matches %j", (pattern, command) => {
    expect(denies(pattern, command)).toBe("deny");
  });

  test.each([
    ["git push:*", "git pushed"],
    ["git push:*", "git pull"],
    ["git push:*", "echo 'git push'"],
    ["git push:*", 'echo $(date) && git commit -m "$(cat <<\'EOF\'\ngit push (it\'s "said")\nEOF\n)"'],
    ["git push:*", 'for f in *.ts; do wc -l "$f"; done | sort -n'],
    ["git push:*", 'case $1 in push) echo yes;; esac; [ -n "$x" ] && [[ a == b ]]'],
    ["git push:*", "cat > notes.md <<E\ngit push\nE"],
    ["git push:*", "echo $((1 << 2)); ((x = 1)); echo git push"],
    ["git push:*", "npm ci 2>&1 | tail -5; git status --short >/dev/null"],
    ["git push:*", "find . -name '*.log' -exec rm {} +"],
    ["git push:*", "bash scripts/build.sh && . ./env.sh"],
    ["npm test", "npm test -- x"],
    ["ls *", "lsof"],
    ["a.c*", "abc"],
  ])("%s does not match %j", (pattern, command) => {
    expect(judge({ deny: [pattern], ask: [pattern], allow: [] }, command)).toMatchObject({ verdict: "none" });
  });
});

/** Each runs `git push`, in a way that words alone do not show. */
const hidden = [
  ...[
    "git  push",
    "git\\\n push",
    "g\\it push",
    'gi"t" push',
    "$'git' push",
    "$'\\x67it' pu$''sh",
    "git push&",
    "! git push",
  ],
  ...["(git push)", "{ git push; }", "time git push", "> b git push", "2>&1 git push", "{fd}>/dev/null git push"],
  ...["echo $(git push)", "echo `git push`", 'echo "$(git push)"', 'echo "a `git push` b"', "x=$(git push)"],
  ...[
    "cat <(git push)",
    "tee >(git push)",
    "[[ -n $(git push) ]]",
    "echo \x24{x:-$(git push)}",
    'echo "\x24{x:-`git push`}"',
  ],
  ...[
    "echo $((`git push`+1))",
    "echo $(echo $(echo $(git push)))",
    "echo `echo \\`git push\\``",
    "cat <<E\n$(git push)\nE",
  ],
  ...["bash <<E\ngit push\nE", "bash <<'E'\ngit push\nE", "bash <<<'git push'", "source /dev/stdin <<< 'git push'"],
  ...[
    "bash -ce 'git push'",
    "bash -c'git push'",
    "bash -c -e 'git push'",
    "bash -c -- 'git push'",
    "bash -o pipefail -c 'git push'",
  ],
  ...["bash -ec 'git push' x y", "/bin/bash -c 'git push'", "env bash -c 'git push'", "sh -c 'sh -c \"git push\"'"],
  ...[
    "eval 'git push'",
    "eval git push",
    "trap 'git push' EXIT",
    "alias g='git push'",
    "coproc git push",
    "coproc N git push",
  ],
  ...["function f { git push; }; f", "f() { git push; }; f", "f() (git push); f", "if true; then git push; fi"],
  ...["for i in 1; do git push; done", "while ! git push; do :; done", "case x in x) git push;; esac"],
  ...[
    "echo $(case x in x) git push;; esac)",
    "select x in 1; do git push; break; done",
    "case x in (x) git push; esac",
  ],
  ...[
    "env -S 'git push'",
    "env -vS 'git push'",
    "env --split-string='git push'",
    "env -u X git push",
    "env -i A=1 git push",
  ],
  ...["watch git push", "watch -n 1 git push", "watch 'git push'", "strace git push", "strace -f -o x git push"],
  ...[
    "/usr/bin/git push",
    "command git push",
    "nohup git push",
    "nice -n 5 git push",
    "stdbuf -o0 git push",
    "sudo -nu root git push",
  ],
  ...[
    "find . -exec git push \\;",
    "find . -maxdepth 0 -execdir git push +",
    "xargs git push",
    "xargs -I{} git push <<<1",
  ],
  ...[
    "xargs -0 -n1 git push",
    "flock /tmp/x git push",
    "flock /tmp/x -c 'git push'",
    "su root -c 'git push'",
    "busybox git push",
  ],
  ...[
    "((1<<x))\ngit push\nx",
    "echo $((1<<x))\ngit push\nx",
    "parallel ::: 'git push'",
    "exec -a x git push",
    "builtin git push",
  ],
  ...["true | git push", "true |\ngit push", "a=(1 2); git push", "echo a#b; git push", "echo 'a\nb'; git push"],
];

test.each(hidden)("%j does not hide what it runs", (command) => {
  expect(denies("git push:*", command)).toBe("deny");
});

test.each([
  ...[
    "$g push",
    "g=git; $g push",
    "\x24{g} push",
    "g?t push",
    "{git,push}",
    "git $x",
    "git pu$x",
    'git "$(echo push)"',
  ],
  ...[
    "echo git push | sh",
    "curl x | bash -s",
    "sh",
    'bash -c "$x"',
    'bash -c "echo $x"',
    'eval "$x"',
    ". <(echo git push)",
  ],
  ...[
    "echo push | xargs git",
    "find . -exec {} \\;",
    "alias g=git\ng push",
    "hash -p /usr/bin/git x; x push",
    "BASH_ENV=x bash a",
  ],
  ...[
    "echo $(git",
    "echo 'git",
    "cat <<E\ngit",
    "\x24{ git push; }",
    "$(".repeat(3000),
    "((".repeat(3000),
    "`\\`".repeat(1000),
  ],
  ...["${".repeat(20_000), 'f() { "$@"; }; f git push'],
])("of %j nobody can say what it runs, so it is asked about", (command) => {
  expect(denies("git push:*", command)).toBe("unclear");
});

test("an expansion that cannot be what a rule names is not asked about", () => {
  expect(denies("git push:*", 'git commit -m "$message"')).toBe("none");
  expect(denies("git push:*", "rm -rf $x/*.log")).toBe("none");
  expect(denies("git * main", "git push origin $branch")).toBe("unclear");
  expect(denies("npm test", "npm test $x")).toBe("unclear");
});

test("a rule that asks does so in doubt too", () => {
  expect(judge({ deny: [], ask: ["git push:*"], allow: [] }, "git $x")).toMatchObject({ verdict: "ask" });
  expect(judge({ deny: [], ask: ["git push:*"], allow: [] }, "echo $(git push)")).toMatchObject({ verdict: "ask" });
});

test("whatever a command is, it is judged soon; and a denied command is found behind it", () => {
  const pieces = [
    "'",
    '"',
    "`",
    "$(",
    "((",
    "))",
    "${",
    "}",
    ")",
    "(",
    "<<E",
    "<(",
    "\\",
    "\n",
    ";",
    "|",
    "a",
    " ",
    "case x in ",
    "esac",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
      const command = `git push\n${parts.join("")}`;
      expect(denies("git push:*", command)).toBe("deny");
    }),
    { numRuns: 300 },
  );
  const wraps: ((inner: string) => string)[] = [
    (inner) => `echo $(${inner})`,
    (inner) => `x="$(${inner})"`,
    (inner) => `cat <(${inner})`,
    (inner) => `if true; then ${inner}; fi`,
    (inner) => `(${inner})`,
    (inner) => `sh -c '${inner.replaceAll("'", "'\\''")}'`,
    (inner) => `eval '${inner.replaceAll("'", "'\\''")}'`,
    (inner) => `case a in a) ${inner};; esac`,
    (inner) => `cat <<E\n$(${inner})\nE`,
    (inner) => `echo \${x:-$(${inner})}`,
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...wraps), { maxLength: 4 }), (chosen) => {
      const command = chosen.reduce((inner, wrap) => wrap(inner), "git push");
      expect({ command, verdict: denies("git push:*", command) }).not.toMatchObject({ verdict: "none" });
    }),
    { numRuns: 300 },
  );
});

test.each(["watch ", "env -u ", "(", "`", "a ", "bash -c ", "<<", "$((", "{a,", "\\", "sh -c 'sh -c "])(
  "many of %j take no time",
  (piece) => {
    const started = performance.now();
    judge({ deny: ["git push:*", "a*b*c"], ask: [], allow: [] }, piece.repeat(Math.floor(60_000 / piece.length)));
    expect(performance.now() - started).toBeLessThan(5000);
  },
);

test("rules come from all settings, and only those for single commands", () => {
  const settings = [
    '{"permissions":{"deny":["Bash(curl:*)","Read(./.env)","Bash",7],"ask":["Bash(git push:*)"]}}',
    '\uFEFF{"permissions":{"deny":["Bash(wget *)","Monitor(tail:*)"]}}',
    "not JSON",
    '{"permissions":[]}',
  ];
  const texts = settings.map((text) => ({ text, isUsers: true }));
  expect(bashRules(texts)).toEqual({ deny: ["curl:*", "wget *", "tail:*"], ask: ["git push:*"], allow: [] });
});

test("rules that allow are the user's alone", () => {
  const text = '{"permissions":{"allow":["Bash","Bash(npm test:*)","Read"],"deny":["Bash(curl:*)"]}}';
  expect(bashRules([{ text, isUsers: true }])).toEqual({ deny: ["curl:*"], ask: [], allow: ["npm test:*", "*"] });
  expect(bashRules([{ text, isUsers: false }])).toEqual({ deny: ["curl:*"], ask: [], allow: [] });
});
