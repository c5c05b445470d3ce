/** The SDK that is published on npm for agentkernel, unchanged, against our server: every method. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, programOf, root } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { publishedSdk } from "../support/e2b/sdks.js";
import { OnlyLoopback } from "../support/only-loopback.js";
import { repository } from "../support/repository.js";
import { runCli } from "../support/run-cli.js";

const scenario = join(repository, "test", "compat-clients", "published", "scenario.mjs");

describe.runIf(root !== undefined)("the published SDK", () => {
  const actor = root as Actor;
  let folder: string;
  let place: OnlyLoopback;
  let server: ApiServer;

  beforeAll(async () => {
    folder = await publishedSdk();
    place = await OnlyLoopback.make();
    server = await ApiServer.start({ ...actor, program: place.words(programOf(actor), actor) });
  }, 300_000);
  afterAll(async () => {
    await runCli(server.actor, ["stop", "--all"]);
    expect(await server.stop()).toBe(0);
    await place.end();
  });

  it("works, method by method, or says what to use", { timeout: 300_000 }, async () => {
    const key = await server.key("published", ["--scope", "run", "--scope", "sandboxes", "--scope", "read"]);
    const env = { PATH: process.env.PATH ?? "", AGENTKERNEL_BASE_URL: server.url, AGENTKERNEL_API_KEY: key };
    const words = [process.execPath, scenario, folder];
    const { stdout, stderr } = await place.run(words, { actor, env, cwd: actor.folder() }, 200_000);
    const line = stdout.split("\n").find((one) => one.startsWith('{"methods"'));
    const { methods, results } = JSON.parse(line ?? "null") ?? expect.fail(`${stdout}\n${stderr}`);
    expect(Object.fromEntries(Object.entries(results).filter(([, result]) => result !== "ok"))).toEqual({});
    expect(Object.values(methods.refused).filter((one) => one !== "501")).toEqual([]);
    // A browser is fetched from the network, by commands that the scenario has tried.
    const tried = new Set([...Object.keys(results), ...Object.keys(methods.refused), "browser"]);
    expect(methods.all.filter((one: string) => !tried.has(one))).toEqual([]);
  });

  it("is told from other clients by its name alone, which opens nothing", async () => {
    const open = await ApiServer.start(actor);
    const headers = { "user-agent": "agentkernel-nodejs-sdk/0.3.0" };
    const listed = await open.ask("GET", "/sandboxes", { headers });
    expect([listed.status, listed.json]).toEqual([200, { success: true, data: [] }]);
    const refused = await open.ask("GET", "/sandboxes", { headers, key: null });
    expect([refused.status, typeof refused.json.error]).toEqual([401, "string"]);
    const strict = await open.ask("POST", "/run", { body: { command: ["true"], fast: true } });
    expect([strict.status, strict.json.error.code]).toEqual([400, "invalid_argument"]);
    expect(await open.stop()).toBe(0);
  });
});
