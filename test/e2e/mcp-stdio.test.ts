/** The tools over stdio, with the official client: with a daemon and without. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, describe, expect, it } from "vitest";
import { callers, usesDaemon } from "../support/daemon.js";
import { call, startMcp, type ToolAnswer } from "../support/mcp-client.js";
import { leavesNothingBehind } from "../support/nothing-left.js";

const sh = (script: string) => ["sh", "-c", script];

describe.each(callers)("$title", (caller) => {
  usesDaemon(caller);
  leavesNothingBehind();
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  // Where the test is about doing it without a daemon, none is started either.
  const env = !caller.title.includes("daemon") ? { AGENTKERNEL_DAEMON: "off" } : {};
  const start = async (cwd = caller.folder()): Promise<Client> => {
    const { client } = await startMcp(caller, { cwd, env });
    clients.push(client);
    return client;
  };

  it("lists every tool, with what it takes, what it answers and what it does", async () => {
    const client = await start();
    expect(client.getServerVersion()).toMatchObject({ name: "agentkernel" });
    expect(client.getInstructions()).toContain("sandbox_run");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(
      [
        ...[
          "sandbox_background",
          "sandbox_diff",
          "sandbox_kill",
          "sandbox_logs",
          "sandbox_create",
          "sandbox_exec",
          "sandbox_file_read",
          "sandbox_file_write",
          "sandbox_list",
        ],
        ...["sandbox_remove", "sandbox_run", "sandbox_session_create", "sandbox_start", "sandbox_stop"],
      ].sort(),
    );
    const readOnly = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
    expect(readOnly.sort()).toEqual(["sandbox_diff", "sandbox_file_read", "sandbox_list", "sandbox_logs"]);
    expect(tools.find(({ name }) => name === "sandbox_remove")?.annotations).toMatchObject({ destructiveHint: true });
    for (const tool of tools) {
      expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(tool.outputSchema).toMatchObject({ type: "object" });
      expect(JSON.stringify(tool)).not.toContain("$ref");
    }
  });

  it("runs a command in the project, whose files it cannot change", async () => {
    const project = caller.folder();
    writeFileSync(join(project, "a.txt"), "from the project\n");
    const client = await start(project);
    const answer = await call(client, "sandbox_run", {
      command: sh("cat a.txt; rm -f a.txt; echo new > b.txt; echo oops >&2; exit 3"),
    });
    expect(answer).toMatchObject({
      isError: false,
      data: { exit_code: 3, stdout: "from the project\n", stderr: "oops\n", timed_out: false, cut_bytes: 0 },
    });
    expect(answer.text).toContain("from the project");
    expect(answer.text).toContain("[exit code 3]");
    expect(readFileSync(join(project, "a.txt"), "utf8")).toBe("from the project\n");
    expect(existsSync(join(project, "b.txt"))).toBe(false);
  });

  it("started at the root, where clients without a project start it, has an empty workspace", async () => {
    const client = await start("/");
    const { data } = await call(client, "sandbox_run", { command: sh("pwd; ls -A"), network: false });
    expect(data).toMatchObject({ stdout: "/workspace\n", exit_code: 0 });
  });

  it("takes variables, a folder, a profile and a time limit", async () => {
    const client = await start();
    const answer = await call(client, "sandbox_run", {
      command: sh('echo "$WORD $PWD"; touch /workspace/x || echo read-only; sleep 600'),
      env: { WORD: "hello; $(id)" },
      cwd: "/tmp",
      profile: "restrictive",
      network: false,
      timeout_ms: 1000,
    });
    expect(answer.data).toMatchObject({ exit_code: 124, timed_out: true, stdout: "hello; $(id) /tmp\nread-only\n" });
    expect(answer.text).toContain("the time limit was reached");
  });

  it("a session's sandbox keeps its files from one command to the next, and ends with its client", async () => {
    const client = await start();
    const made = await call(client, "sandbox_session_create", { name: "scratch", network: false });
    expect(made.data).toMatchObject({ name: "scratch", kind: "session", state: "running", network: "off" });
    await call(client, "sandbox_exec", { name: "scratch", command: sh("echo kept > /tmp/note; sleep 600 & exit 0") });
    expect(await call(client, "sandbox_exec", { name: "scratch", command: ["cat", "/tmp/note"] })).toMatchObject({
      data: { stdout: "kept\n", exit_code: 0, sandbox: "scratch" },
    });
    expect((await call(client, "sandbox_list")).data.sandboxes).toMatchObject([{ name: "scratch", kind: "session" }]);
    const again = await call(client, "sandbox_session_create", { name: "scratch" });
    expect(again).toMatchObject({ isError: true, text: expect.stringMatching(/^conflict: .*scratch already/) });
    const other = await start();
    expect((await call(other, "sandbox_list")).data.sandboxes).toEqual([]);
    expect(await call(other, "sandbox_exec", { name: "scratch", command: ["true"] })).toMatchObject({
      isError: true,
      text: expect.stringContaining("there is no sandbox scratch"),
    });
  });

  it("files go in and out of a sandbox, text as text and binary as base64", async () => {
    const client = await start();
    await call(client, "sandbox_session_create", { name: "files", network: false });
    const bytes = Buffer.from([0, 255, 254, 10, 128]).toString("base64");
    const write = (path: string, content: string, more = {}) =>
      call(client, "sandbox_file_write", { name: "files", path, content, ...more });
    expect((await write("/workspace/deep/er/ä.txt", "wörd\n", { mode: 0o600 })).data).toEqual({
      path: "/workspace/deep/er/ä.txt",
      size_bytes: 6,
    });
    await write("/tmp/raw", bytes, { encoding: "base64" });
    const read = (path: string, more = {}) => call(client, "sandbox_file_read", { name: "files", path, ...more });
    expect((await read("/workspace/deep/er/ä.txt")).data).toMatchObject({
      content: "wörd\n",
      encoding: "utf8",
      is_whole: true,
    });
    expect((await read("/tmp/raw")).data).toMatchObject({ content: bytes, encoding: "base64", size_bytes: 5 });
    // A character that the limit would split is left for the next part.
    const part = (await read("/workspace/deep/er/ä.txt", { limit: 2 })).data;
    expect(part).toMatchObject({ content: "w", next_offset: 1, is_whole: false });
    expect((await read("/workspace/deep/er/ä.txt", { offset: 1 })).data).toMatchObject({ content: "örd\n" });
    expect(await read("/tmp/nothing")).toMatchObject({ isError: true });
    const { data } = await call(client, "sandbox_exec", {
      name: "files",
      command: sh("stat -c %a /workspace/deep/er/*; wc -c < /tmp/raw"),
    });
    expect(data.stdout).toBe("600\n5\n");
    const resource = await client.readResource({ uri: "agentkernel://sandboxes/files/files/tmp/raw" });
    expect(resource.contents).toMatchObject([{ blob: bytes }]);
  });

  it("tells output while the command runs, where that is asked for", async () => {
    const client = await start();
    await call(client, "sandbox_session_create", { name: "live", network: false });
    let told = "";
    let hasBegun: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve;
    });
    // It ends only once its first line was heard of: nothing waits for time.
    const running = call(
      client,
      "sandbox_exec",
      {
        name: "live",
        command: sh("echo begun; while ! test -e /tmp/go; do sleep 0.1; done; echo ended"),
        streaming: true,
      },
      {
        onprogress: ({ message }) => {
          told += message ?? "";
          if (told.includes("begun")) hasBegun();
        },
      },
    );
    await begun;
    await call(client, "sandbox_file_write", { name: "live", path: "/tmp/go", content: "" });
    expect((await running).data).toMatchObject({ stdout: "begun\nended\n", exit_code: 0 });
    expect(told).toMatch(/^begun\n(ended\n)?$/);
  });

  it("a call that is taken back ends its command, and the sandbox goes on", async () => {
    const client = await start();
    await call(client, "sandbox_session_create", { name: "cancel", network: false });
    const abort = new AbortController();
    const running = call(
      client,
      "sandbox_exec",
      { name: "cancel", command: sh("trap '' TERM; echo begun; sleep 31337"), streaming: true },
      { signal: abort.signal, onprogress: () => abort.abort() },
    );
    await expect(running).rejects.toThrow();
    const look = {
      name: "cancel",
      command: sh("for i in $(seq 100); do pgrep -x sleep || exit 0; sleep 0.1; done; exit 1"),
    };
    expect((await call(client, "sandbox_exec", look)).data).toMatchObject({ exit_code: 0 });
    const whole = new AbortController();
    const run = call(
      client,
      "sandbox_run",
      { command: sh("echo begun; sleep 31337"), network: false, streaming: true },
      { signal: whole.signal, onprogress: () => whole.abort() },
    );
    await expect(run).rejects.toThrow();
  });

  it("long output is cut in the middle, and the whole of it can be read", async () => {
    const client = await start();
    const { text, data } = await call(client, "sandbox_run", { command: ["seq", "1", "100000"], network: false });
    const whole = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(text.length).toBeLessThan(30_000);
    expect(text).toMatch(/^1\n2\n3\n/);
    expect(text).toMatch(/\n99999\n100000\n\[exit code 0\]$/);
    const [, cut, uri = ""] =
      /… (\d+) bytes are cut here; the whole output: sandbox_file_read with path (\S+) …/.exec(text) ?? [];
    expect(data).toMatchObject({ cut_bytes: Number(cut), full_output: uri });
    let read = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { data: part }: ToolAnswer = await call(client, "sandbox_file_read", { path: uri, offset, limit: 300_000 });
      read += part.content;
      offset = part.next_offset;
    }
    expect(read).toBe(whole);
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri, size: whole.length }]);
    expect((await client.readResource({ uri })).contents).toMatchObject([{ text: whole }]);
  });

  it("a hundred calls at once are all answered", async () => {
    const client = await start();
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const answers = await Promise.all(
      numbers.map((n) =>
        call(
          client,
          "sandbox_run",
          { command: ["echo", String(n)], network: false, timeout_ms: 60_000 },
          { timeout: 110_000 },
        ),
      ),
    );
    expect(answers.map(({ data }) => data.stdout)).toEqual(numbers.map((n) => `${n}\n`));
  }, 120_000);

  it("what is wrong is said, with the field and what to do", async () => {
    const client = await start();
    const wrong = async (args: Readonly<Record<string, unknown>>, name = "sandbox_run") => {
      const { isError, text } = await call(client, name, args);
      expect(isError).toBe(true);
      return text;
    };
    expect(await wrong({})).toMatch(/^invalid_argument: command is missing/);
    expect(await wrong({ command: "ls -l" })).toContain("command is a text, not a list");
    expect(await wrong({ command: ["ls", 3] })).toContain("command[1] is a number, not a text");
    expect(await wrong({ command: [] })).toContain("command is an empty list");
    expect(await wrong({ command: ["true"], tiemout_ms: 3 })).toContain("did you mean timeout_ms?");
    expect(await wrong({ command: ["true"], profile: "lax" })).toContain("not one of permissive, moderate");
    expect(await wrong({ command: ["true"], cwd: "src" })).toContain("cwd is");
    expect(await wrong({ command: ["true"], network: { allowed_domains: ["*"] } })).toContain(
      "network.allowed_domains",
    );
    expect(await wrong({ command: ["/no/such/program"] })).toMatch(/^command_not_found: /);
    expect(await wrong({ name: "nobody" }, "sandbox_remove")).toContain("there is no sandbox nobody");
    expect(await wrong({ name: "../x", path: "/a" }, "sandbox_file_read")).toContain("name is");
    expect(await wrong({ path: "agentkernel://outputs/ffffffffffff" }, "sandbox_file_read")).toContain("not kept");
    await expect(call(client, "sandbox_rm", {})).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource({ uri: "agentkernel://nowhere/1" })).rejects.toThrow();
  });
});
