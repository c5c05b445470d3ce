/** Sandboxes that stay, through MCP: they outlive their client, and a daemon comes up for them where none was. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { call, startMcp } from "../support/mcp-client.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { statusOf } from "../support/on-demand.js";
import { runCli } from "../support/run-cli.js";

describe.each(actors)("as $name", (actor) => {
  leavesNothingBehind();
  // A runtime and a state folder of its own: no other daemon is met there.
  const own = clientOf(actor);
  const caller = { ...actor, variables: { ...own.variables, XDG_STATE_HOME: actor.folder("state") } };
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await runCli(caller, ["daemon", "stop", "--all"]);
  });
  // A session has the sandboxes of its project.
  const project = caller.folder();
  const start = async (words?: readonly string[]): Promise<Client> => {
    const { client } = await startMcp(caller, { cwd: project, ...(words === undefined ? {} : { words }) });
    clients.push(client);
    return client;
  };

  it("the daemon comes up by itself, and what is named stays when the client has gone", async () => {
    expect((await runCli(caller, ["daemon", "status"])).status).not.toBe(0);
    const first = await start();
    const made = await call(first, "sandbox_create", { name: "stays", network: false, ttl: "1h" });
    expect(made).toMatchObject({ isError: false, data: { name: "stays", kind: "named", state: "running" } });
    await call(first, "sandbox_exec", {
      name: "stays",
      command: ["sh", "-c", "echo kept > /root-note || echo kept > /tmp/note"],
    });
    await call(first, "sandbox_file_write", { name: "stays", path: "/workspace/kept.txt", content: "kept\n" });
    await first.close();
    expect(await statusOf(caller)).toMatchObject({ up: true, on_demand: true, held_by: ["sandbox stays"] });
    // The other way to write the verb.
    const second = await start(["mcp-server"]);
    expect((await call(second, "sandbox_list")).data.sandboxes).toMatchObject([{ name: "stays", state: "running" }]);
    expect((await call(second, "sandbox_stop", { name: "stays" })).data).toMatchObject({ state: "stopped" });
    expect((await call(second, "sandbox_start", { name: "stays" })).data).toMatchObject({ state: "running" });
    const { data } = await call(second, "sandbox_file_read", { name: "stays", path: "/workspace/kept.txt" });
    expect(data.content).toBe("kept\n");
    // A command in one that is stopped starts it.
    await call(second, "sandbox_stop", { name: "stays" });
    const ran = await call(second, "sandbox_exec", { name: "stays", command: ["cat", "/workspace/kept.txt"] });
    expect(ran.data).toMatchObject({ stdout: "kept\n", exit_code: 0 });
    const serve = ["sh", "-c", "echo listening; echo changed > kept.txt; sleep 600"];
    const begun = await call(second, "sandbox_background", { name: "stays", command: serve });
    const { exec } = begun.data;
    const logs = async () => (await call(second, "sandbox_logs", { name: "stays", exec })).data.execs[0];
    await expect.poll(logs).toMatchObject({ stdout: "listening\n", state: "running" });
    expect((await call(second, "sandbox_diff", { name: "stays" })).text).toContain("kept.txt");
    expect((await call(second, "sandbox_kill", { name: "stays", exec })).data).toEqual({ exec, state: "ended" });
    expect(await logs()).toMatchObject({ state: "ended", exit_code: 137 });
    expect(await call(second, "sandbox_kill", { name: "stays", exec })).toMatchObject({ isError: true });
    expect(await call(second, "sandbox_create", { name: "stays" })).toMatchObject({ isError: true });
    expect(await call(second, "sandbox_session_create", { name: "stays" })).toMatchObject({ isError: true });
    expect((await call(second, "sandbox_remove", { name: "stays" })).isError).toBe(false);
    expect((await call(second, "sandbox_list")).data.sandboxes).toEqual([]);
  });

  it("without a daemon they are refused with what to do, and all else works", async () => {
    const { client } = await startMcp(caller, { cwd: caller.folder(), env: { AGENTKERNEL_DAEMON: "off" } });
    clients.push(client);
    const refused = await call(client, "sandbox_create", { name: "no" });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toMatch(/^conflict: .*need the agentkernel daemon.*\nNext: use sandbox_session_create/);
    expect((await call(client, "sandbox_run", { command: ["echo", "works"], network: false })).data.stdout).toBe(
      "works\n",
    );
    expect((await runCli(caller, ["daemon", "status"])).status).not.toBe(0);
  });

  it("ends in order when it is told to, with its session's sandboxes", async () => {
    const { client, pid } = await startMcp(caller, { cwd: caller.folder() });
    await call(client, "sandbox_session_create", { name: "mine", network: false });
    const closed = new Promise<void>((resolve) => {
      client.onclose = resolve;
    });
    process.kill(pid, "SIGTERM");
    await closed;
  });
});
