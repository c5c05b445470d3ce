import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerText, decide, type HookSetting } from "./hook.js";

const setting: HookSetting = {
  launch: ["agentkernel"],
  searchPath: null,
  projectDir: "/home/ada/it's mine",
  realPath: (path) => path,
  leaving: "ask",
  rules: { deny: ["curl:*"], ask: ["git push:*"], allow: [] },
};

function input(toolInput: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    cwd: "/home/ada/it's mine",
    permission_mode: "acceptEdits",
    tool_input: toolInput,
    ...more,
  });
}

const withoutRules: HookSetting = { ...setting, rules: { deny: [], ask: [], allow: [] } };

/** The words that a real shell makes of the command that the hook gives back, from `run` on. */
function wordsOf(text: string, using = withoutRules): string[] {
  const answer = decide(text, using);
  if (answer.kind !== "route") throw new Error(`${answer.kind}: ${"reason" in answer ? answer.reason : ""}`);
  const shell = `agentkernel() { for word in "$@"; do printf '%s\\0' "$word"; done; }; cd() { :; }\n${answer.input.command}`;
  return execFileSync("bash", ["--norc", "-c", shell], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe("a command", () => {
  test("becomes the same command in a sandbox, with everything else as it was", () => {
    const answer = decide(input({ command: "npm test", timeout: 5000, run_in_background: true }), setting);
    expect(answer).toMatchObject({ kind: "route", input: { timeout: 5000, run_in_background: true } });
    expect(JSON.parse(answerText(answer))).toMatchObject({
      hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow" },
    });
    const words = wordsOf(input({ command: "npm test" }));
    expect(words.slice(0, 6)).toEqual(["run", "--compatibility-mode", "claude", "--", "sh", "-c"]);
    expect(words.slice(7)).toEqual(["sh", "npm test", "/home/ada/it's mine", ""]);
  });

  test.each([
    "echo it's",
    `'"'"'`,
    "a\nb\n\n",
    "$(touch /tmp/x) `id` $HOME !! \\",
    "-rf --",
    "'; rm -rf / #",
    "cat <<'EOF'\n'\nEOF",
    "\u2028é👍\r\t\u0001\u007f",
    "",
  ])("%j reaches the sandbox unchanged", (command) => {
    expect(wordsOf(input({ command }))[8]).toBe(command);
  });

  test("reaches the sandbox unchanged whatever it is", () => {
    const anything = fc
      .string({ unit: "grapheme", maxLength: 60 })
      .filter((text) => !text.includes("\0") && !/\p{Surrogate}/u.test(text));
    const nasty = fc.string({ unit: fc.constantFrom(..."'\"\\$`!;&|<>(){}[]*?~# \n\t-=a"), maxLength: 40 });
    fc.assert(
      fc.property(fc.oneof(anything, nasty), (command) => {
        expect(wordsOf(input({ command }))[8]).toBe(command);
      }),
      { numRuns: 60 },
    );
  });

  test("of a folder below the project runs there", () => {
    const words = wordsOf(input({ command: "ls" }, { cwd: "/home/ada/it's mine/a b/c" }));
    expect(words.slice(9)).toEqual(["/home/ada/it's mine", "a b/c"]);
  });

  test("keeps nothing that it changes while a plan is made", () => {
    expect(wordsOf(input({ command: "ls" }, { permission_mode: "plan" })).slice(3, 5)).toEqual(["--workspace", "copy"]);
  });

  test("is started without what the project has in PATH", () => {
    const searchPath = "/usr/bin:/it's/bin";
    const answer = decide(input({ command: "ls" }), { ...setting, searchPath });
    expect(answer).toMatchObject({
      input: { command: expect.stringMatching(/^PATH='\/usr\/bin:\/it'\\''s\/bin' agentkernel run /) },
    });
    const below = input({ command: "ls" }, { cwd: "/home/ada/it's mine/sub" });
    expect(wordsOf(below, { ...setting, searchPath }).slice(-2)).toEqual(["/home/ada/it's mine", "sub"]);
  });

  test("is not run where agentkernel itself lies in the project", () => {
    const launch = ["/usr/bin/node", "/home/ada/it's mine/node_modules/agentkernel/dist/agentkernel.js"] as const;
    expect(decide(input({ command: "ls" }), { ...setting, launch })).toMatchObject({
      kind: "deny",
      reason: expect.stringMatching(/agentkernel itself lies in the project/),
    });
  });

  test("is started from where agentkernel lies", () => {
    const answer = decide(input({ command: "ls" }), { ...setting, launch: ["/opt/a b/agentkernel"] });
    expect(answer).toMatchObject({ input: { command: expect.stringMatching(/^'\/opt\/a b\/agentkernel' run /) } });
  });
});

describe("Claude Code's own question", () => {
  const inMode = (mode: unknown, command: string, allow: readonly string[] = []) =>
    decide(input({ command }, { permission_mode: mode }), { ...setting, rules: { deny: [], ask: [], allow } });
  const kinds = (mode: unknown, command: string, allow: readonly string[] = []) => {
    const answer = inMode(mode, command, allow);
    const isCopy = "input" in answer && String(answer.input?.command).includes(" --workspace copy ");
    return isCopy ? `${answer.kind}, dropped` : answer.kind;
  };
  const writing = [
    "touch x",
    "echo x > src/a.ts",
    "npm test",
    "ls; rm x",
    "sed -i s/a/b/ x",
    "find . -delete",
    "$x",
    "sh -c ls",
  ];
  const reading = ["ls -la", "git status --short && git diff | head -50", "cat a 2>/dev/null", "grep -rn x . 2>&1"];

  test.each(["default", "manual", undefined])("is put in mode %s before a command that may change files", (mode) => {
    for (const command of writing) expect(kinds(mode, command), command).toBe("ask");
    expect(inMode(mode, "touch x")).toMatchObject({
      reason: expect.stringMatching(/carried over to your files/),
      input: { command: expect.stringMatching(/ run --compatibility-mode claude -- /) },
    });
  });

  test.each(["default", "dontAsk", undefined])("is not needed in mode %s for one that reads, on a copy", (mode) => {
    for (const command of reading) expect(kinds(mode, command), command).toBe("route, dropped");
  });

  test.each(["acceptEdits", "bypassPermissions", "auto"])("is answered by mode %s", (mode) => {
    for (const command of [...writing, ...reading]) expect(kinds(mode, command), command).toBe("route");
  });

  test("is answered with no where only rules allow", () => {
    for (const command of writing) expect(kinds("dontAsk", command), command).toBe("deny");
    expect(kinds("dontAsk", "npm test", ["npm test:*"])).toBe("route");
  });

  test.each([
    ["npm test", ["npm test:*"], "route"],
    ["cd sub && npm test -- x | tail -5", ["npm test:*"], "route"],
    ["anything --at-all > a", ["*"], "route"],
    ["npm testing", ["npm test:*"], "ask"],
    ["npm test; touch x", ["npm test:*"], "ask"],
    ["npm test > src/a.ts", ["npm test:*"], "ask"],
    ["npm test $(touch x)", ["npm test:*"], "ask"],
    ["npm test `touch x`", ["npm test:*"], "ask"],
  ])("about %s with the rules %j: %s", (command, allow, kind) => {
    expect(kinds("default", command, allow)).toBe(kind);
  });
});

describe("is not run", () => {
  test.each([
    ["no JSON", "{", /not JSON/],
    ["nothing", "", /not JSON/],
    ["a list", "[]", /not a JSON object/],
    ["another event", input({ command: "ls" }, { hook_event_name: "PostToolUse" }), /only PreToolUse/],
    ["no tool", input({ command: "ls" }, { tool_name: 7 }), /tool_name/],
    ["no input", input(null), /tool_input/],
    ["a list as input", input(["ls"]), /tool_input/],
    ["no command", input({}), /no command/],
    ["a command that is no text", input({ command: ["ls"] }), /no command/],
    ["a NUL", input({ command: "ls\0" }), /NUL/],
    ["half a character", input({ command: "ls \ud800" }), /half a character/],
    ["a very long command", input({ command: "x".repeat(70_000) }), /longer than 64 KiB/],
    ["no folder", input({ command: "ls" }, { cwd: undefined }), /cwd/],
    ["a folder outside the project", input({ command: "ls" }, { cwd: "/home/ada" }), /outside the project/],
    [
      "a folder beside the project",
      input({ command: "ls" }, { cwd: "/home/ada/it's mine too" }),
      /outside the project/,
    ],
  ])("%s", (_what, text, why) => {
    const answer = decide(text, setting);
    expect(answer).toMatchObject({ kind: "deny", reason: expect.stringMatching(why) });
    expect(JSON.parse(answerText(answer))).toMatchObject({ hookSpecificOutput: { permissionDecision: "deny" } });
  });
});

describe("the user's own rules for single commands", () => {
  test("deny", () => {
    expect(decide(input({ command: "true && curl x" }), setting)).toMatchObject({
      kind: "deny",
      reason: expect.stringContaining("your rule Bash(curl:*)"),
    });
  });

  test("ask, and what runs then is in a sandbox too", () => {
    const answer = decide(input({ command: "git push" }), setting);
    expect(JSON.parse(answerText(answer))).toMatchObject({
      hookSpecificOutput: {
        permissionDecision: "ask",
        updatedInput: { command: expect.stringMatching(/^agentkernel run /) },
      },
    });
  });

  test.each([
    ["default", "ask"],
    ["plan", "ask"],
    ["bypassPermissions", "deny"],
    ["dontAsk", "deny"],
  ])("that cannot be held against a command: in mode %s the answer is %s", (mode, kind) => {
    expect(decide(input({ command: 'bash -c "$x"' }, { permission_mode: mode }), setting)).toMatchObject({
      kind,
      reason: expect.stringMatching(/your rules cannot be held against all of it/),
    });
  });

  test("that are not known refuse everything", () => {
    const rules = { unreadable: "/x/settings.json is larger than 4 MiB" };
    expect(decide(input({ command: "ls" }), { ...setting, rules })).toMatchObject({
      kind: "deny",
      reason: expect.stringContaining("settings.json is larger"),
    });
  });

  test("deny a command outside the sandbox before it is asked about", () => {
    expect(decide(input({ command: "curl x", dangerouslyDisableSandbox: true }), setting).kind).toBe("deny");
  });
});

describe("leaving the sandbox", () => {
  const leaving = (value: unknown, mode: unknown, using = setting) =>
    decide(input({ command: "ls", dangerouslyDisableSandbox: value }, { permission_mode: mode }), using).kind;

  test.each(["default", "acceptEdits", "plan", undefined])("is asked in mode %s", (mode) => {
    expect(leaving(true, mode)).toBe("ask");
  });

  test.each(["bypassPermissions", "dontAsk", "auto", "something new"])("is refused in mode %s", (mode) => {
    expect(leaving(true, mode)).toBe("deny");
  });

  test("is refused where the user says so", () => {
    expect(leaving(true, "default", { ...setting, leaving: "refuse" })).toBe("deny");
  });

  test.each([1, "true", "false", {}, null])("is asked for by %j too", (value) => {
    expect(leaving(value, "default")).toBe("ask");
  });

  test("is not asked for by false", () => {
    expect(leaving(false, "default")).toBe("route");
  });
});

describe("Monitor", () => {
  const monitor = (toolInput: unknown) => decide(input(toolInput, { tool_name: "Monitor" }), setting);

  test("runs its command in a sandbox, with everything else as it was", () => {
    expect(monitor({ command: "tail -f log", description: "errors", timeout_ms: 5000 })).toEqual({
      kind: "route",
      input: {
        command: expect.stringMatching(/ run --compatibility-mode claude -- .*'tail -f log'/),
        description: "errors",
        timeout_ms: 5000,
      },
    });
  });

  test.each([
    [{ ws: { url: "ws://127.0.0.1" } }, /WebSocket/],
    [{ command: "ls", ws: {} }, /WebSocket/],
    [{ description: "x" }, /no command/],
    [{ command: "curl x" }, /your rule/],
  ])("does not run %j", (toolInput, why) => {
    expect(monitor(toolInput)).toMatchObject({ kind: "deny", reason: expect.stringMatching(why) });
  });
});

test("PowerShell is refused", () => {
  expect(decide(input({ command: "ls" }, { tool_name: "PowerShell" }), setting)).toMatchObject({
    kind: "deny",
    reason: expect.stringContaining("use the Bash tool"),
  });
});

test("calls of other tools are not judged", () => {
  expect(answerText(decide(input({ file_path: "/x" }, { tool_name: "Read" }), setting))).toBe("{}\n");
});
