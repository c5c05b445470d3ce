/** Destinations that no rule covers are put to the user through the client, and the answer holds as long as it says. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Actor, actors } from "../support/actors.js";
import { clientOf } from "../support/daemon.js";
import { call, ProcessTransport } from "../support/mcp-client.js";
import { EVERYWHERE, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { runCli } from "../support/run-cli.js";

const NAME = "asked.example.com";
const OTHER = "other.example.com";
const proxyless = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy";
const fetch = (name: string) => `curl -sf -m 40 http://${name}/ >/dev/null && echo reached || echo kept out`;
const allowlist = { enabled: true, allowed_domains: [] };

describe.skipIf(whyNoWorld() !== null)("a destination that no rule covers", () => {
  let world: NetworkWorld;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(EVERYWHERE, 80, { kind: "http" });
    await world.name(NAME, [WORLD.public4]);
    await world.name(OTHER, [WORLD.public4]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();
    const alone = { ...actor, variables: { AGENTKERNEL_DAEMON: "off" } };
    let client: Client;
    let questions: string[];
    let answers: ElicitResult[];
    const connect = async (capabilities: object, caller: Actor = alone, cwd = actor.folder()) => {
      questions = [];
      answers = [];
      client = new Client({ name: "tests", version: "1" }, { capabilities });
      if ("elicitation" in capabilities) {
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          questions.push(params.message);
          return answers.shift() ?? { action: "cancel" };
        });
      }
      const options = { cwd, env: caller.variables ?? {} };
      await client.connect(new ProcessTransport(world.startCli(caller, ["mcp", "server"], options)));
    };
    beforeEach(() => connect({ elicitation: {} }));
    afterEach(() => client.close());
    const run = async (...scripts: readonly string[]) => {
      const command = ["sh", "-c", [proxyless, ...scripts].join("\n")];
      return await call(
        client,
        "sandbox_run",
        { command, network: allowlist, timeout_ms: 60_000 },
        { timeout: 90_000 },
      );
    };
    const accept = (decision: string): ElicitResult => ({ action: "accept", content: { decision } });

    it("allowed once, is asked for again; refused, stays refused", async () => {
      answers = [accept("once"), accept("never")];
      const { data } = await run(fetch(NAME), fetch(NAME), fetch(NAME));
      expect(data.stdout).toBe("reached\nkept out\nkept out\n");
      expect(questions).toHaveLength(2);
      expect(questions[0]).toContain(`wants to reach ${NAME}:80`);
      expect(data.notes.join("\n")).toContain(`refused ${NAME}:80: the user refused it`);
      const { stdout } = await runCli(actor, [
        "audit",
        "list",
        "--type",
        "approval",
        "--sandbox",
        data.sandbox,
        "--json",
      ]);
      expect(JSON.parse(stdout).data).toMatchObject([
        { asked: NAME, port: 80, verdict: "allowed", answer: "once", by: "mcp" },
        { asked: NAME, port: 80, verdict: "denied", answer: "never", by: "mcp" },
      ]);
    });

    it("allowed for a session's sandbox, is allowed in all its commands, and in no other sandbox", async () => {
      answers = [accept("sandbox")];
      await call(client, "sandbox_session_create", { name: "mine", network: allowlist });
      const exec = (name: string) =>
        call(client, "sandbox_exec", {
          name: "mine",
          command: ["sh", "-c", `${proxyless}\n${fetch(name)}`],
          timeout_ms: 60_000,
        });
      expect((await exec(NAME)).data.stdout).toBe("reached\n");
      expect((await exec(NAME)).data.stdout).toBe("reached\n");
      expect(questions).toHaveLength(1);
      expect((await exec(OTHER)).data.stdout).toBe("kept out\n");
      expect(questions).toHaveLength(2);
      expect((await run(fetch(NAME))).data.stdout).toBe("kept out\n");
      expect(questions).toHaveLength(3);
    });

    it("beyond the user's limits is refused without a question; within them the user is asked", async () => {
      await client.close();
      const configured = actor.folder("config");
      mkdirSync(join(configured, "agentkernel"));
      writeFileSync(
        join(configured, "agentkernel", "config.toml"),
        `[limits]\nnetwork = "allowlist"\ndomains.allow = ["${OTHER}"]\n`,
      );
      await connect({ elicitation: {} }, { ...alone, variables: { ...alone.variables, XDG_CONFIG_HOME: configured } });
      answers = [accept("sandbox"), accept("sandbox")];
      const { data, text } = await run(fetch(NAME), fetch(OTHER));
      expect(data?.stdout, text).toBe("kept out\nreached\n");
      expect(questions).toHaveLength(1);
      expect(questions[0]).toContain(`wants to reach ${OTHER}:80`);
      expect(data.notes.join("\n")).toContain("the user's limits leave nothing to approve");
    });

    it("declined is never; nothing of it is resolved or dialled", async () => {
      await world.takeRecord();
      answers = [{ action: "decline" }];
      expect((await run(fetch(NAME), fetch(NAME))).data.stdout).toBe("kept out\nkept out\n");
      expect(questions).toHaveLength(1);
      expect(await world.takeRecord()).toEqual({ queries: [], connections: [], requests: [] });
    });

    it("in a sandbox that stays is put to whoever waits for a command in it", async () => {
      await client.close();
      const { variables } = clientOf(actor);
      const caller = { ...actor, variables: { ...variables, XDG_STATE_HOME: actor.folder("state") } };
      try {
        const project = actor.folder();
        await connect({ elicitation: {} }, caller, project);
        expect((await call(client, "sandbox_create", { name: "stays", network: allowlist })).isError).toBe(false);
        answers = [accept("sandbox")];
        const exec = async (name: string) => {
          const command = ["sh", "-c", `${proxyless}\n${fetch(name)}`];
          return (await call(client, "sandbox_exec", { name: "stays", command, timeout_ms: 60_000 })).data.stdout;
        };
        expect(await exec(NAME)).toBe("reached\n");
        expect(questions).toHaveLength(1);
        await client.close();
        // Nobody can be asked now; what was allowed for the sandbox still is.
        await connect({}, caller, project);
        expect(await exec(NAME)).toBe("reached\n");
        expect(await exec(OTHER)).toBe("kept out\n");
      } finally {
        await client.close();
        await world.runCli(caller, ["daemon", "stop", "--all"], { env: caller.variables });
      }
    });

    it("is denied without a question where the client offers none", async () => {
      await client.close();
      await connect({});
      const { data } = await run(fetch(NAME));
      expect(data.stdout).toBe("kept out\n");
      expect(data.notes.join("\n")).toMatch(/refused asked\.example\.com/);
    });
  });
});
