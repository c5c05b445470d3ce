/** Modules and programs' texts through the tools of the Model Context Protocol. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, describe, expect, it } from "vitest";
import { callersOfBothWays, usesDaemon } from "../support/daemon.js";
import { call, startMcp } from "../support/mcp-client.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { rustModule } from "../support/wasm-modules.js";

const tell = rustModule("tell");

describe.each(callersOfBothWays)("$title", (caller) => {
  usesDaemon(caller);
  leavesNothingBehind();
  const clients: Client[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  it("sandbox_run calls a module of the project, and a program's text", async () => {
    const cwd = caller.folder();
    copyFileSync(tell, join(cwd, "tell.wasm"));
    // Where the test is about doing it without a daemon, none is started either.
    const env: Record<string, string> = caller.title.includes("daemon") ? {} : { AGENTKERNEL_DAEMON: "off" };
    const { client } = await startMcp(caller, { cwd, env });
    clients.push(client);
    const module = await call(client, "sandbox_run", { command: ["tell.wasm", "args", "x"], backend: "wasm" });
    expect(module.data).toMatchObject({ exit_code: 0, stdout: "tell.wasm|args|x\n" });
    const text = await call(client, "sandbox_run", { command: ["console.log(6 * 7)"], backend: "wasm", lang: "js" });
    expect(text.data).toMatchObject({ exit_code: 0, stdout: "42\n" });
  });
});
