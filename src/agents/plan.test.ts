import { describe, expect, test } from "vitest";
import { type Agent, type Scope, type Setting, scopes } from "./agent.js";
import type { FileText } from "./edit/index.js";
import { agents } from "./index.js";
import { type FileChange, planInstall, planUninstall } from "./plan.js";
import { addToRecord } from "./record.js";

type Disk = Record<string, string>;

const empty = { files: {}, folders: [] };

function settingOf(scope: Scope, disk: Disk, launch: Setting["launch"] = ["agentkernel"]): Setting {
  const at = { cwd: "/project", env: {}, homeDir: "/home/ada" };
  return { scope, launch, at, exists: (path) => Object.hasOwn(disk, path) };
}

const reader =
  (disk: Disk) =>
  (path: string): FileText =>
    disk[path] ?? null;

function applied(disk: Disk, changes: readonly FileChange[]): Disk {
  const made = { ...disk };
  for (const { path, after } of changes) {
    if (after === null) delete made[path];
    else made[path] = after;
  }
  return made;
}

function installed(agent: Agent, disk: Disk, setting: Setting) {
  const changes = planInstall(agent.files(setting), reader(disk));
  return { disk: applied(disk, changes), record: addToRecord(empty, changes, []), changes };
}

function uninstalled(agent: Agent, disk: Disk, setting: Setting, record = addToRecord(empty, [], [])): Disk {
  return applied(
    disk,
    planUninstall(agent.files(setting), reader(disk), (path) => record.files[path] ?? null),
  );
}

/** What users have in these files already, in the ways that people write them. */
const texts: Readonly<Record<"json" | "toml" | "md", readonly string[]>> = {
  json: [
    "{}",
    "{}\n",
    "{ }\n\n",
    '{\n  // mine\n  "theme": "dark", // dim\n}\n',
    '{"a":1}',
    '{\r\n\t"a": [1, 2],\r\n\t"b": {}\r\n}\r\n',
    '{\n    "mcpServers": {\n        "other": { "command": "x" }\n    },\n    "mcp": {},\n    "permissions": { "allow": ["Bash(ls:*)"], "deny": [] },\n    "hooks": { "PreToolUse": [ { "matcher": "Write", "hooks": [] } ] },\n    "instructions": ["a.md"]\n}',
  ],
  toml: [
    "",
    "\n",
    'model = "x" # mine\n',
    '# top\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n# the end',
    "[a]\r\nb = 1\r\n",
    "[a]\nb = 1\n\n\n",
  ],
  md: ["", "# Mine\n", "# Mine", "text\n\n\n", "line\r\n"],
};

function kindOf(path: string): keyof typeof texts | null {
  if (path.endsWith("SKILL.md") || path.endsWith("agentkernel.md") || path.includes("/policies/")) return null;
  if (path.endsWith(".md")) return "md";
  return path.endsWith(".toml") ? "toml" : "json";
}

const cases = agents.flatMap((agent) =>
  scopes.map((scope) => ({ agent, scope, title: `${agent.name} for a ${scope}` })),
);

describe.each(cases)("$title", ({ agent, scope }) => {
  const fresh = settingOf(scope, {});
  const paths = agent.files(fresh).map(({ path }) => path);
  const existing = paths.flatMap((path) => {
    const kind = kindOf(path);
    return kind === null ? [] : texts[kind].map((text) => ({ path, text }));
  });

  test("is put where nothing is, and leaves nothing", () => {
    const { disk, record } = installed(agent, {}, fresh);
    expect(Object.keys(disk).sort()).toEqual([...paths].sort());
    expect(uninstalled(agent, disk, fresh, record)).toEqual({});
    expect(uninstalled(agent, disk, fresh)).toEqual({});
  });

  test.each(existing)("beside $text", ({ path, text }) => {
    const before = { [path]: text };
    const setting = settingOf(scope, before);
    const { disk, record } = installed(agent, before, setting);
    for (const line of text.split(/\r?\n/).filter((one) => /^\s*(\/\/|#)/.test(one)))
      expect(disk[path]).toContain(line);
    expect(installed(agent, disk, setting).changes).toEqual([]);
    expect(uninstalled(agent, disk, setting, record)).toEqual(before);
  });

  test.each(existing)("without a record, $text means the same again", ({ path, text }) => {
    const before = { [path]: text };
    const setting = settingOf(scope, before);
    const rest = uninstalled(agent, installed(agent, before, setting).disk, setting);
    expect(rest[path] ?? "").not.toContain("agentkernel");
    expect(planUninstall(agent.files(setting), reader(rest), () => null)).toEqual([]);
  });

  test("another way to start agentkernel replaces the first", () => {
    const { disk, record, changes } = installed(agent, {}, fresh);
    const moved = settingOf(scope, disk, ["/opt/agentkernel/bin/agentkernel"]);
    const second = planInstall(agent.files(moved), reader(disk));
    const after = applied(disk, second);
    expect(after[changes[0]?.path ?? ""]).toContain("/opt/agentkernel/bin/agentkernel");
    expect(uninstalled(agent, after, moved, addToRecord(record, second, []))).toEqual({});
  });
});

describe("what the user changed since", () => {
  const [claude, , codex] = agents;
  if (claude === undefined || codex === undefined) throw new Error("agents are missing");

  test("stays in JSON, comments and all", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/settings.json";
    const before = { [path]: '{\n  "model": "a"\n}\n' };
    const { disk, record } = installed(claude, before, setting);
    const edited = (disk[path] ?? "").replace('"model": "a"', '// faster\n  "model": "b"');
    expect(uninstalled(claude, { ...disk, [path]: edited }, setting, record)).toEqual({
      [path]: '{\n  // faster\n  "model": "b"\n}\n',
    });
  });

  test("stays where it was written between our own entries", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/settings.json";
    const { disk, record } = installed(claude, {}, setting);
    const edited = (disk[path] ?? "").replace('"allow": [', '"allow": [\n      "Bash(ls:*)",');
    const rest = uninstalled(claude, { ...disk, [path]: edited }, setting, record);
    expect(JSON.parse(rest[path] ?? "")).toMatchObject({ permissions: { allow: ["Bash(ls:*)"] } });
    expect(rest[path]).not.toContain("agentkernel");
  });

  test("stays in TOML", () => {
    const setting = settingOf("user", {});
    const path = "/home/ada/.codex/config.toml";
    const { disk, record } = installed(codex, { [path]: "a = 1\n" }, setting);
    const edited = `# first\n${disk[path]}\n[mine]\nb = 2 # two\n`;
    const rest = uninstalled(codex, { ...disk, [path]: edited }, setting, record);
    expect(rest[path]).toMatch(/^# first\na = 1\n+\[mine\]\nb = 2 # two\n$/);
  });

  test("an entry that the user had before us is theirs", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/settings.json";
    const before = { [path]: '{ "permissions": { "allow": ["mcp__agentkernel__sandbox_run"] } }\n' };
    const { disk, record } = installed(claude, before, setting);
    expect(uninstalled(claude, disk, setting, record)).toEqual(before);
  });

  test("a rule that the user has refused is not allowed beside it", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/settings.json";
    const { disk } = installed(
      claude,
      { [path]: '{ "permissions": { "deny": ["mcp__agentkernel__sandbox_run"] } }' },
      setting,
    );
    const { permissions } = JSON.parse(disk[path] ?? "") as { permissions: Record<string, string[]> };
    expect(permissions.allow).not.toContain("mcp__agentkernel__sandbox_run");
  });

  test("a hook of the user's beside ours stays, in and out", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/settings.json";
    const mine = { type: "command", command: "my-check" };
    const groups = (disk: Disk) =>
      (JSON.parse(disk[path] ?? "") as { hooks: { PreToolUse: { matcher: string; hooks: { command: string }[] }[] } })
        .hooks.PreToolUse;
    for (const matcher of ["Bash", "Bash|Monitor|PowerShell"]) {
      const old = { type: "command", command: "agentkernel hook claude || { exit 2; }" };
      const before = { [path]: JSON.stringify({ hooks: { PreToolUse: [{ matcher, hooks: [mine, old] }] } }) };
      const { disk } = installed(claude, before, setting);
      const own = groups(disk).flatMap((group) => group.hooks.filter(({ command }) => command.includes("agentkernel")));
      expect(own).toHaveLength(1);
      expect(own[0]?.command).not.toBe(old.command);
      expect(groups(disk)[0]).toMatchObject({ matcher, hooks: expect.arrayContaining([mine]) });
      expect(groups(disk).at(-1)?.matcher).toBe("Bash|Monitor|PowerShell");
      expect(installed(claude, disk, setting).changes).toEqual([]);
      expect(groups(uninstalled(claude, disk, setting))).toEqual([{ matcher, hooks: [mine] }]);
    }
  });

  test("a file of ours that the user rewrote stays", () => {
    const setting = settingOf("project", {});
    const path = "/project/.claude/skills/agentkernel/SKILL.md";
    const { disk, record } = installed(claude, {}, setting);
    const mine = { ...disk, [path]: `${disk[path]}\nand one line more\n` };
    expect(uninstalled(claude, mine, setting, record)).toEqual({ [path]: mine[path] });
  });
});

describe("an entry of a project's that starts our server", () => {
  const command = { command: "agentkernel", args: ["mcp", "server"] };
  const words = { type: "local", command: ["agentkernel", "mcp", "server"] };
  const at = (name: string, path: string, text: string, scope: Scope) => {
    const agent = agents.find((one) => one.name === name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    return () => planInstall(agent.files(settingOf(scope, { [path]: text })), reader({ [path]: text }));
  };
  const json = (member: string, entry: object) => JSON.stringify({ [member]: { agentkernel: entry } });

  test.each([
    ["claude", ".mcp.json", json("mcpServers", { ...command, env: { NODE_OPTIONS: "--require ./evil.js" } }), "env"],
    ["claude", ".mcp.json", json("mcpServers", { ...command, type: "http", url: "http://x" }), "type, url"],
    ["claude", ".mcp.json", json("mcpServers", { ...command, headers: {} }), "headers"],
    [
      "claude",
      ".mcp.json",
      json("mcpServers", { command: "agentkernel", args: ["mcp", "server", "--workspace", "mount"] }),
      "args",
    ],
    [
      "opencode",
      "opencode.json",
      json("mcp", { type: "local", command: [...words.command, "--profile", "permissive"] }),
      "command",
    ],
    ["gemini", ".gemini/settings.json", json("mcpServers", { ...command, trust: true, cwd: "evil" }), "trust, cwd"],
    ["opencode", "opencode.json", json("mcp", { ...words, environment: { A: "b" } }), "environment"],
    [
      "codex",
      ".codex/config.toml",
      '[mcp_servers.agentkernel]\ncommand = "agentkernel"\nargs = ["mcp", "server"]\nenv = { NODE_OPTIONS = "x" }\n',
      "env",
    ],
    [
      "codex",
      ".codex/config.toml",
      '[mcp_servers.agentkernel]\ncommand = "agentkernel"\nargs = ["mcp", "server"]\ndefault_tools_approval_mode = "approve"\n',
      "default_tools_approval_mode",
    ],
  ])("of %s in %s may not say more: %s", (name, path, text, keys) => {
    expect(at(name, `/project/${path}`, text, "project")).toThrow(`says ${keys}, which a project must not decide`);
  });

  test("may say what changes nothing", () => {
    const text = json("mcpServers", { ...command, type: "stdio", timeout: 5 });
    expect(at("claude", "/project/.mcp.json", text, "project")().map(({ path }) => path)).not.toContain(
      "/project/.mcp.json",
    );
  });

  test("is the user's own in the user's files", () => {
    const path = "/home/ada/.claude.json";
    const args = [...command.args, "--compatibility-mode", "claude"];
    const text = json("mcpServers", { ...command, args, env: { AGENTKERNEL_IMAGE: "host" } });
    expect(at("claude", path, text, "user")().map((change) => change.path)).not.toContain(path);
    // Another command that only has our words in it is none of ours.
    const other = json("mcpServers", { command: "wrapper", args: ["mcp", "server", "evil"] });
    expect(at("claude", path, other, "user")).toThrow(/is there already/);
  });
});

describe("a file that is broken, or holds something else", () => {
  const inUser = (name: string, path: string, text: string) => () => {
    const agent = agents.find((one) => one.name === name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    planInstall(agent.files(settingOf("user", {})), reader({ [path]: text }));
  };

  test.each([
    [
      "claude",
      "/home/ada/.claude/settings.json",
      '{\n  "a": 1\n  "b": 2\n}',
      /settings\.json:3:3: not JSON: comma expected/,
    ],
    ["claude", "/home/ada/.claude/settings.json", "[]", /settings\.json:1:1: the file holds no JSON object/],
    ["claude", "/home/ada/.claude/settings.json", '{\n "hooks": []\n}', /settings\.json:2:11: hooks is not an object/],
    [
      "claude",
      "/home/ada/.claude/settings.json",
      '{ "a": 1,\n "a": 2 }',
      /settings\.json:2:2: the key "a" is there twice/,
    ],
    ["gemini", "/home/ada/.gemini/settings.json", "{", /settings\.json:1:\d+: not JSON/],
    ["codex", "/home/ada/.codex/config.toml", 'a = 1\nb = "x', /config\.toml:2:\d+: not TOML/],
    [
      "claude",
      "/home/ada/.claude.json",
      '{ "mcpServers": { "agentkernel": { "command": "evil" } } }',
      /claude\.json:1: mcpServers\.agentkernel is there already/,
    ],
    [
      "codex",
      "/home/ada/.codex/config.toml",
      '[mcp_servers.agentkernel]\ncommand = "evil"\n',
      /is there already, and is not ours/,
    ],
    ["codex", "/home/ada/.codex/AGENTS.md", "<!-- agentkernel: begin -->\n", /AGENTS\.md:1:1: the marks/],
    ["claude", "/home/ada/.claude/skills/agentkernel/SKILL.md", "mine", /the file is there already, and is not ours/],
  ])("of %s at %s is not changed: %s", (name, path, text, message) => {
    expect(inUser(name, path, text)).toThrow(message);
  });
});
