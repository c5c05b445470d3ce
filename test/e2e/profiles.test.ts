/** The table of profiles, cell by cell, as seen from inside; and the compatibility modes' project and process columns. */
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { makeProject } from "../support/project.js";
import { runCli } from "../support/run-cli.js";

/** Prints one `name=value` a line for everything that a profile decides. */
const look = [
  "writes() { (echo x > $1/ak-e2e) 2> /dev/null && echo yes || echo no; }",
  "echo project_inside=$(writes /workspace)",
  "echo root=$(writes /opt)",
  "echo tmp=$(writes /tmp)",
  'echo home=$(cat "$OUTSIDE_HOME/notes.txt" 2> /dev/null || echo hidden)',
  'echo home_written=$(writes "$OUTSIDE_HOME")',
  'echo home_secret=$(cat "$OUTSIDE_HOME/.ssh/id_rsa" 2> /dev/null || echo hidden)',
  "echo env=$(printenv PLAIN_SETTING || echo dropped)",
  "echo env_secret=$(printenv SERVICE_TOKEN || echo dropped)",
  "echo uid=$(id -u)",
  "echo capabilities=$(sed -n 's/^CapBnd:.//p' /proc/self/status)",
  "echo interfaces=$(sed -n 's/^ *\\([^ :]*\\):.*/\\1/p' /proc/net/dev | tr '\\n' ' ')",
].join("\n");

async function seenFromInside(actor: Actor, words: readonly string[]) {
  const notes = join(actor.home, "notes.txt");
  const ssh = join(actor.home, ".ssh");
  mkdirSync(ssh, { recursive: true });
  writeFileSync(notes, "notes\n");
  writeFileSync(join(ssh, "id_rsa"), "key\n");
  if (process.getuid?.() === 0)
    for (const path of [notes, ssh, join(ssh, "id_rsa")]) chownSync(path, actor.uid, actor.gid);
  const project = makeProject(actor, { "a.txt": "a\n" });
  const result = await runCli(actor, ["run", ...words, "-e", `OUTSIDE_HOME=${actor.home}`, "sh", "-c", look], {
    cwd: project.path,
    env: { PLAIN_SETTING: "passed", SERVICE_TOKEN: "a secret" },
  });
  expect(result.status, result.stderr).toBe(0);
  const seen = Object.fromEntries(
    result.stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=", 2)),
  );
  const onHost = "ak-e2e" in project.content() ? "yes" : "no";
  return { seen: { ...seen, project_on_host: onHost }, stderr: result.stderr };
}

const kept = expect.stringMatching(/^0*[1-9a-f][0-9a-f]*$/);
const none = "0000000000000000";
const open = {
  root: "yes",
  tmp: "yes",
  uid: "0",
  capabilities: kept,
  interfaces: "lo",
  home_secret: "hidden",
  env_secret: "dropped",
};
const closedHome = { home: "hidden", home_written: "no", env: "dropped" };
const strict = {
  root: "no",
  tmp: "yes",
  uid: "1000",
  capabilities: none,
  interfaces: "lo",
  home_secret: "hidden",
  env_secret: "dropped",
};

const table: readonly [string, readonly string[], object][] = [
  [
    "permissive",
    ["--profile", "permissive"],
    { ...open, project_inside: "yes", project_on_host: "yes", home: "notes", home_written: "no", env: "passed" },
  ],
  ["moderate", ["--profile", "moderate"], { ...open, ...closedHome, project_inside: "yes", project_on_host: "no" }],
  ["moderate, unnamed", [], { ...open, ...closedHome, project_inside: "yes", project_on_host: "no" }],
  [
    "restrictive",
    ["--profile", "restrictive"],
    { ...strict, ...closedHome, project_inside: "no", project_on_host: "no" },
  ],
  [
    "claude",
    ["--compatibility-mode", "claude"],
    { ...open, ...closedHome, project_inside: "yes", project_on_host: "yes" },
  ],
  [
    "gemini",
    ["--compatibility-mode", "gemini"],
    { ...open, ...closedHome, project_inside: "yes", project_on_host: "yes" },
  ],
  [
    "codex",
    ["--compatibility-mode", "codex"],
    { ...strict, ...closedHome, project_inside: "yes", project_on_host: "yes" },
  ],
];

describe.each(actors)("as $name", (actor) => {
  it.each(table)("%s", async (_name, words, expected) => {
    const { seen } = await seenFromInside(actor, words);
    expect(seen).toEqual(expected);
  });
});
