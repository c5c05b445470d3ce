/** Every numeric setting of src/settings, set through each surface that has it, and read back. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { numbers, resourceNumbers, settableNumbers } from "../../src/settings/index.js";
import type { NumericDescription } from "../../src/settings/numeric-setting.js";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { call, startMcp } from "../support/mcp-client.js";
import { makeProject } from "../support/project.js";
import { repository } from "../support/repository.js";
import { runCli } from "../support/run-cli.js";
import { buildSdk } from "../support/sdk/runners.js";

/** Neither the default nor the ceiling of a key, and narrower than both. */
function sample({ keyCeiling, default: usual, max }: NumericDescription): number {
  return Math.floor((keyCeiling ?? usual ?? max) / 2);
}

const camel = (key: string) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const sampledBy = (name: (key: string) => string) =>
  Object.fromEntries(resourceNumbers.map(({ setting }) => [name(setting.key), sample(setting)]));
const resources = sampledBy((key) => key);

describe.each(actors.slice(0, 1))("as $name", (actor) => {
  type Row = { readonly field: string; readonly value: unknown; readonly origin: string };
  const explained = async (words: readonly string[], files: Readonly<Record<string, string>> = {}, env = {}) => {
    const { path } = makeProject(actor, files);
    const { stdout, stderr } = await runCli(actor, ["policy", "explain", "--json", ...words], { cwd: path, env });
    const { data } = JSON.parse(stdout);
    if (!Array.isArray(data)) throw new Error(stdout + stderr);
    return (field: string) => data.find((row: Row) => row.field === field) as Row | undefined;
  };
  const tomlOf = (table: string) =>
    [`[${table}]`, ...settableNumbers.map(({ setting }) => `${setting.key} = ${sample(setting)}`), ""].join("\n");
  const userWide = (text: string) => ({
    XDG_CONFIG_HOME: makeProject(actor, { "agentkernel/config.toml": text }).path,
  });

  it("flags set them", async () => {
    const words = settableNumbers.flatMap(({ setting }) => [
      `--${setting.flag}`,
      setting.quantity.format(sample(setting)),
    ]);
    const row = await explained(words);
    for (const { path, setting } of settableNumbers) {
      expect(row(path)).toMatchObject({ value: sample(setting), origin: `--${setting.flag}` });
    }
  });

  it("[resources] sets them, and [limits] holds flags to them", async () => {
    const row = await explained([], { "agentkernel.toml": tomlOf("resources") });
    const limited = await explained([], {}, userWide(tomlOf("limits")));
    for (const [index, { path, setting }] of settableNumbers.entries()) {
      expect(row(path)).toMatchObject({ value: sample(setting), origin: `agentkernel.toml:${index + 2}` });
      expect(limited(path)).toMatchObject({ value: sample(setting), origin: expect.stringContaining("the limit in") });
    }
    const { path } = makeProject(actor, {});
    for (const { setting } of settableNumbers) {
      const words = ["policy", "explain", "--json", `--${setting.flag}`, setting.quantity.format(setting.keyCeiling)];
      const beyond = await runCli(actor, words, { cwd: path, env: userWide(tomlOf("limits")) });
      expect(JSON.parse(beyond.stdout), setting.flag).toMatchObject({ error: { code: "policy_denied" } });
    }
  });

  it("a policy file sets them", async () => {
    const tables = new Map<string, Record<string, unknown>>();
    const expected = numbers.flatMap(({ path, setting }) => {
      const { policyFile } = setting;
      if (policyFile === undefined) return [];
      const value = sample(setting);
      const end = policyFile.path.lastIndexOf(".");
      const written = policyFile.form === "text" ? setting.quantity.format(value) : value;
      const table = policyFile.path.slice(0, end);
      tables.set(table, { ...tables.get(table), [policyFile.path.slice(end + 1)]: written });
      return [[path, policyFile.toValue?.(value) ?? value] as const];
    });
    const nested = [...tables].map(([name, table]) =>
      name.split(".").reduceRight<object>((inner, key) => ({ [key]: inner }), table),
    );
    const text = JSON.stringify(Object.assign({ version: 1 }, ...nested), null, 1);
    const row = await explained(["--policy", "p.json"], { "p.json": text });
    expect(expected.length).toBeGreaterThan(5);
    for (const [path, value] of expected) {
      expect(row(path)).toMatchObject({ value, origin: expect.stringMatching(/^p\.json:\d+$/) });
    }
  });

  describe("over HTTP, MCP and SDKs", () => {
    let server: ApiServer;
    let key: string;
    let client: Client;
    beforeAll(async () => {
      await buildSdk({ name: "python" });
      server = await ApiServer.start(actor);
      key = await server.key("settings", ["--scope", "sandboxes"]);
      ({ client } = await startMcp(server.actor, { cwd: makeProject(actor, {}).path }));
    }, 120_000);
    afterAll(async () => {
      await client?.close();
      await server?.stop();
    });
    const made = async (name: string) => (await server.ask("GET", `/sandboxes/${name}`, { key })).json.data?.resources;

    it("HTTP sets them, and holds a key to its ceiling", async () => {
      const body = { name: "http", resources, start: false };
      expect((await server.ask("POST", "/sandboxes", { body, key })).status).toBe(201);
      expect(await made("http")).toEqual(resources);
      for (const { jsonPath, setting } of resourceNumbers) {
        const beyond = { name: "beyond", resources: { [setting.key]: setting.max }, start: false };
        const { json } = await server.ask("POST", "/sandboxes", { body: beyond, key });
        expect(json.error, setting.key).toMatchObject({ code: "policy_denied", details: { field: jsonPath } });
        const outside = { ...beyond, resources: { [setting.key]: setting.max * 2 } };
        const refused = await server.ask("POST", "/sandboxes", { body: outside, key });
        expect(refused.json.error).toMatchObject({ code: "invalid_argument", details: { field: jsonPath } });
      }
    });

    it("MCP sets them", async () => {
      const { isError, text } = await call(client, "sandbox_create", { name: "mcp", resources });
      expect(isError, text).toBe(false);
      const own = (await server.ask("GET", "/sandboxes/mcp")).json.data;
      expect(own?.resources).toEqual(resources);
      await call(client, "sandbox_remove", { name: "mcp" });
    });

    it("the SDKs for TypeScript and Python set them", async () => {
      // By its place: the SDK has compiler options of its own.
      const { AgentKernel } = await import(join(repository, "sdk/typescript/src/index.ts"));
      const sdk = new AgentKernel({ baseUrl: server.url, apiKey: key });
      const sandbox = await sdk.sandboxes.create("typescript", { resources: sampledBy(camel), start: false });
      expect(sandbox.info.resources).toEqual(sampledBy(camel));
      const script = `
import json, sys
from agentkernel import AgentKernel
url, key, resources = sys.argv[1:]
with AgentKernel(url, api_key=key) as client:
    client.sandboxes.create("python", resources=json.loads(resources), start=False)`;
      const python = join(repository, ".build", "sdk", "python", "bin", "python3");
      await promisify(execFile)(python, ["-c", script, server.url, key, JSON.stringify(resources)]);
      expect(await made("python")).toEqual(resources);
    });
  });
});
