import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { runCli, runIn } from "../../support/run-cli.js";
import { runOutside } from "../support/process-programs.js";

interface Log {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly file: string;
}

/** A log of three runs in a state folder of its own. */
async function makeLog(actor: Actor): Promise<Log> {
  const state = actor.folder("state");
  const env = { XDG_STATE_HOME: state };
  for (const word of ["one", "two", "three"]) {
    expect(await runIn(actor, ["echo", word], { env, cwd: actor.folder() })).toMatchObject({ status: 0 });
  }
  const folder = join(state, "agentkernel", "audit");
  return { env, folder, file: join(folder, "00000001.jsonl") };
}

const attacks: readonly (readonly [string, string, RegExp])[] = [
  ["an exit status is changed", `sed -i '0,/"code":0/s//"code":7/' "$1"`, /^00000001\.jsonl:5: edited: /m],
  ["a command is changed", `sed -i 's/"two"/"2"/' "$1"`, /^00000001\.jsonl:9: edited: /m],
  ["a line is taken out", `sed -i 9d "$1"`, /^00000001\.jsonl:9: missing: line number 9 /m],
  ["a run is taken out", `sed -i 7,11d "$1"`, /^00000001\.jsonl:7: missing: line numbers 7 to 11 /m],
  ["two lines change places", `sed -i '8{h;d};9{G}' "$1"`, /^00000001\.jsonl:9: reordered: line number 8 /m],
  ["the end is cut off", `sed -i '12,$d' "$1"`, /^00000001\.jsonl: cut: .*after line number 11; 5 more/m],
  ["the end is cut in the middle of a line", `truncate -s -20 "$1"`, /^00000001\.jsonl: cut: .*; 1 more/m],
  ["everything is cut off", `: > "$1"`, /^00000001\.jsonl: cut: .*after line number 0; 16 more/m],
  ["the file is removed", `rm "$1"`, /^00000001\.jsonl: cut: /m],
  ["the end and the record of it are removed", `sed -i '12,$d' "$1"; rm -r "$(dirname "$1")/turn"`, /^head: /m],
];

describe("A7 the audit log edited or cut", () => {
  describe.each(actors)("as $name", (actor) => {
    it.each(attacks)("%s: outside nothing stops its owner, and verify says where", async (_title, attack, told) => {
      const { env, folder, file } = await makeLog(actor);
      const before = await runCli(actor, ["audit", "verify"], { env });
      expect(before).toMatchObject({ status: 0, stdout: expect.stringMatching(/^whole: 16 lines in 1 file\n/) });
      const bytes = readFileSync(file);
      expect(await runOutside(actor, ["sh", "-c", attack, "sh", file])).toMatchObject({ status: 0, stderr: "" });
      expect(readdirSync(folder).includes("00000001.jsonl") && readFileSync(file).equals(bytes)).toBe(false);
      const after = await runCli(actor, ["audit", "verify"], { env });
      expect(after.stdout).toMatch(/^damaged: /);
      expect(after).toMatchObject({ status: 1, stdout: expect.stringMatching(told) });
      const { data } = JSON.parse((await runCli(actor, ["audit", "verify", "--json"], { env })).stdout);
      expect(data).toMatchObject({ whole: false });
      // A later run goes on, and hides nothing.
      expect(await runIn(actor, ["true"], { env, cwd: actor.folder() })).toMatchObject({ status: 0 });
      expect(await runCli(actor, ["audit", "verify"], { env })).toMatchObject({ status: 1 });
    });

    it("begun anew, it is missed by its note; without that, by a hash that was noted elsewhere", async () => {
      const { env, folder } = await makeLog(actor);
      const hash = /hash ([0-9a-f]{64})/.exec((await runCli(actor, ["audit", "verify"], { env })).stdout)?.[1] ?? "";
      expect(await runCli(actor, ["audit", "verify", "--expect", hash], { env })).toMatchObject({ status: 0 });
      rmSync(folder, { recursive: true });
      await runIn(actor, ["true"], { env, cwd: actor.folder() });
      expect(await runCli(actor, ["audit", "verify"], { env })).toMatchObject({ status: 1 });
      rmSync(folder, { recursive: true });
      rmSync(`${folder}-begun.jsonl`);
      await runIn(actor, ["true"], { env, cwd: actor.folder() });
      expect(await runCli(actor, ["audit", "verify"], { env })).toMatchObject({ status: 0 });
      const expected = await runCli(actor, ["audit", "verify", "--expect", hash], { env });
      expect(expected).toMatchObject({ status: 1, stdout: expect.stringMatching(/^missing: no line has the hash/m) });
    });

    it.each([
      ["live around it", "state", ["--workspace", "mount"]],
      ["with the home folder shown", "../.local/state", ["--profile", "permissive"]],
    ])("a sandbox, %s, cannot reach it", async (_title, state, options) => {
      const home = actor.folder("home");
      const project = join(home, "project");
      mkdirSync(project);
      chownSync(project, actor.uid, actor.gid);
      const env = { HOME: home, XDG_STATE_HOME: join(project, state) };
      await runIn(actor, ["--workspace", "none", "true"], { env, cwd: project });
      const file = join(project, state, "agentkernel/audit/00000001.jsonl");
      const attack = `for f in "${file}" ${state}/agentkernel/audit/*.jsonl; do (: > "$f") 2>/dev/null; rm -f "$f"; done; true`;
      const copy = join(home, "copy");
      writeFileSync(copy, readFileSync(file));
      chownSync(copy, actor.uid, actor.gid);
      expect(await runOutside(actor, ["sh", "-c", `: > "${copy}"`])).toMatchObject({ status: 0 });
      expect(readFileSync(copy, "utf8")).toBe("");
      const ran = await runIn(actor, [...options, "sh", "-c", attack], { env, cwd: project });
      expect(ran.status).toBe(0);
      expect(await runCli(actor, ["audit", "verify"], { env })).toMatchObject({ status: 0 });
      expect(readFileSync(file, "utf8").split("\n").length).toBeGreaterThan(10);
    });
  });
});
