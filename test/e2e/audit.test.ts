import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { expectComplaint } from "../support/complaint.js";
import { runCli, runIn } from "../support/run-cli.js";
import { WatchedCli } from "../support/watched-cli.js";

interface Line {
  readonly type: string;
  readonly sandbox: string;
  readonly [field: string]: unknown;
}

describe.each(actors)("as $name", (actor) => {
  /** A state folder of its own for each test. */
  const surroundings = () => ({ env: { XDG_STATE_HOME: actor.folder("state") }, cwd: actor.folder() });
  const list = async (options: object, ...words: string[]): Promise<readonly Line[]> => {
    const { stdout, stderr, status } = await runCli(actor, ["audit", "list", "--json", ...words], options);
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    return JSON.parse(stdout).data;
  };

  it("a run is on record when it has ended: walls, command, status, end", async () => {
    const options = surroundings();
    const ran = await runIn(actor, ["--json", "sh", "-c", "exit 3"], options);
    const { sandbox } = JSON.parse(ran.stdout).data;
    const records = await list(options, "--sandbox", sandbox);
    expect(records.map(({ type }) => type)).toEqual([
      "sandbox.start",
      "sandbox.ready",
      "exec.start",
      "exec.end",
      "sandbox.end",
    ]);
    const [start, ready, command, ended, end] = records;
    expect(start).toMatchObject({
      backend: "linux",
      image: { name: "host", digest: null },
      policy: { digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), profile: "moderate", network: "off" },
      project: options.cwd,
    });
    expect(ready?.layers).toContainEqual(expect.objectContaining({ name: "seccomp", state: "applied" }));
    expect(command).toMatchObject({ argv: ["sh", "-c", "exit 3"], cwd: "/workspace", tty: false });
    expect(ended).toMatchObject({ code: 3, signal: null, timedOut: false });
    expect(end).toMatchObject({ limits: [] });
    const folder = join(options.env.XDG_STATE_HOME, "agentkernel", "audit");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "00000001.jsonl")).mode & 0o777).toBe(0o600);
  });

  it("limits that were reached, and commands that could not be run, are told", async () => {
    const options = surroundings();
    await runIn(actor, ["--timeout", "200ms", "sleep", "100"], options);
    await runIn(actor, ["no-such-command"], options);
    const ends = await list(options, "--type", "sandbox.end");
    expect(ends.map(({ limits }) => limits)).toEqual([["timeout"], []]);
    const [late, missing] = await list(options, "--type", "exec.end");
    expect(late).toMatchObject({ timedOut: true });
    expect(missing).toMatchObject({ code: null, error: expect.stringMatching(/no-such-command/) });
  });

  it("filters: type, time, limit, denied; text for people", async () => {
    const options = surroundings();
    for (const word of ["one", "two"]) await runIn(actor, ["echo", word], options);
    expect(await list(options, "--limit", "1")).toMatchObject([{ type: "sandbox.end" }]);
    expect(await list(options, "--type", "exec.start", "--since", "1h")).toHaveLength(2);
    expect(await list(options, "--until", "1h")).toEqual([]);
    expect(await list(options, "--since", "2000-01-01", "--type", "exec", "--type", "audit")).toHaveLength(5);
    expect(await list(options, "--denied")).toEqual([]);
    const { stdout } = await runCli(actor, ["audit", "list", "--type", "exec.start"], options);
    expect(stdout).toMatch(/^\S+Z {2}exec\.start +run-[0-9a-f]{12} {2}echo one\n\S+Z .* echo two\n$/);
    const tail = await runCli(actor, ["audit", "tail", "-n", "1", "--type", "exec.start"], options);
    expect(tail.stdout).toMatch(/^[^\n]*echo two\n$/);
  });

  // THREATS P8
  it("what a command was called steers no terminal", async () => {
    const options = surroundings();
    await runIn(actor, ["echo", "\u001b]0;owned\u0007\u009b2J"], options);
    for (const words of [["list"], ["list", "--json"], ["tail"], ["tail", "--json"]]) {
      const { stdout } = await runCli(actor, ["audit", ...words], options);
      expect(stdout).toMatch(/owned/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
  });

  it("tail -f shows what comes, and ends when nobody reads any more", async () => {
    const options = surroundings();
    await runIn(actor, ["echo", "before"], options);
    const tail = new WatchedCli(actor, ["audit", "tail", "-f", "-n", "1", "--type", "exec.start"], options);
    await tail.until(/echo before/);
    await runIn(actor, ["echo", "during"], options);
    await tail.until(/echo during/);
    tail.child.stdout?.destroy();
    await runIn(actor, ["echo", "after"], options);
    await runIn(actor, ["echo", "after"], options);
    expect(await tail.end).toMatchObject({ status: 0, stderr: "" });
  });

  it("tail -f waits for a log that is not there yet", async () => {
    const options = surroundings();
    const tail = new WatchedCli(actor, ["audit", "tail", "-f", "--json"], options);
    await expect
      .poll(() => statSync(join(options.env.XDG_STATE_HOME, "agentkernel", "audit")).isDirectory())
      .toBe(true);
    await runIn(actor, ["true"], options);
    await tail.until(/"sandbox\.end"/);
    tail.child.kill("SIGINT");
    expect(await tail.end).toMatchObject({ signal: "SIGINT" });
  });

  it("where nothing has been recorded yet, nothing is missed", async () => {
    const options = surroundings();
    expect(await runCli(actor, ["audit", "verify"], options)).toMatchObject({
      status: 0,
      stdout: "nothing has been recorded yet\n",
    });
    expect(await list(options)).toEqual([]);
  });

  it("a log that is gone with its folder is missed, also by the one that takes its place", async () => {
    const options = surroundings();
    const verify = () => runCli(actor, ["audit", "verify"], options);
    await runIn(actor, ["true"], options);
    expect(await verify()).toMatchObject({ status: 0, stdout: expect.stringMatching(/^whole: /) });
    rmSync(join(options.env.XDG_STATE_HOME, "agentkernel", "audit"), { recursive: true });
    expect(await verify()).toMatchObject({ status: 1, stdout: expect.stringMatching(/missing: the log is gone/) });
    await runIn(actor, ["true"], options);
    expect(await verify()).toMatchObject({ status: 1, stdout: expect.stringMatching(/lines may be missing here/) });
    expect((await list(options)).map(({ type }) => type)).toContain("audit.recovered");
  });

  it("off means off, and nonsense is refused", async () => {
    const options = surroundings();
    const off = { ...options, env: { ...options.env, AGENTKERNEL_AUDIT: "off" } };
    expect(await runIn(actor, ["true"], off)).toMatchObject({ status: 0 });
    expect(await list(options)).toEqual([]);
    const nonsense = await runIn(actor, ["true"], { ...options, env: { ...options.env, AGENTKERNEL_AUDIT: "maybe" } });
    expect(nonsense.status).toBe(125);
    expectComplaint(nonsense.stderr, /AGENTKERNEL_AUDIT is "maybe"/, /on, off, required/);
  });

  it("a log that cannot be written is told in one line, and stops only a run that requires it", async () => {
    const env = { XDG_STATE_HOME: "/proc/nowhere" };
    const ran = await runIn(actor, ["echo", "ran"], { env, cwd: actor.folder() });
    expect(ran).toMatchObject({ status: 0, stdout: "ran\n" });
    expect(ran.stderr.match(/^agentkernel: the audit log could not be written: .*$/gm)).toHaveLength(1);
    const required = await runIn(actor, ["echo", "ran"], {
      env: { ...env, AGENTKERNEL_AUDIT: "required" },
      cwd: actor.folder(),
    });
    expect(required).toMatchObject({ status: 125, stdout: "" });
    expect(required.stderr).toMatch(
      /^agentkernel: the audit log could not be written: .*\n {2}hint: .*AGENTKERNEL_AUDIT=off/m,
    );
  });

  it.each([
    [["list", "--since", "yesterday"], /--since: "yesterday" is not a time/],
    [["list", "--type", "exce"], /no records of the type "exce"/],
    [["list", "--limit", "0"], /--limit: "0" is not a number/],
    [["verify", "--expect", "abc"], /--expect: "abc" is not a hash/],
  ])("audit %j is refused by name", async (words, sentence) => {
    const { status, stderr } = await runCli(actor, ["audit", ...words]);
    expect(status).toBe(125);
    expectComplaint(stderr, sentence);
  });

  it("twenty runs at once are one whole log", async () => {
    const options = surroundings();
    const runs = Array.from({ length: 20 }, (_, at) => runIn(actor, ["echo", String(at)], options));
    for (const { status } of await Promise.all(runs)) expect(status).toBe(0);
    expect(await runCli(actor, ["audit", "verify"], options)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^whole: 101 lines/),
    });
    const file = join(options.env.XDG_STATE_HOME, "agentkernel", "audit", "00000001.jsonl");
    expect(new Set(readFileSync(file, "utf8").match(/"writer":"[^"]+"/g)).size).toBe(20);
  });
});
