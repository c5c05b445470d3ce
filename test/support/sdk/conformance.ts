/** What every SDK is held to: the same scenarios, by the socket and by TCP of a real server, and with one that misbehaves. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, actors, environmentOf, programOf } from "../actors.js";
import { ApiServer } from "../api-server.js";
import { clientOf } from "../daemon.js";
import { difference, joinOutput } from "./match.js";
import { buildSdk, type Outcome, outputOf, runScenarios, type Sdk } from "./runners.js";
import { localPath, readScenarios, type Scenario, unknownPath } from "./scenarios.js";
import { ScriptedServer } from "./scripted-server.js";

const BUILD_MS = 300_000;
const RUN_MS = 120_000;
const [actor] = actors as readonly [Actor];
const { scenarios } = readScenarios();
const real = scenarios.filter(({ server }) => server === "real");
const scripted = scenarios.filter(({ server }) => server === "scripted");

const unknown: readonly Scenario[] = JSON.parse(readFileSync(unknownPath, "utf8")).scenarios;

let server: ApiServer;
let script: ScriptedServer;
let key: string;

const places = [
  // No address is given: the socket of the user's daemon is found.
  { place: "the daemon's socket", kind: "unix", variables: () => ({}) },
  { place: "TCP, with a key", kind: "tcp", variables: byTcp },
  // The token of the user's own server is found.
  { place: "TCP, without a key", kind: "tcp-own", variables: () => ({ AGENTKERNEL_BASE_URL: server.url }) },
];

/** The tests of these SDKs; called once in a file. */
export function describeConformance(sdks: readonly Sdk[]): void {
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    script = await ScriptedServer.start();
    key = await server.key("sdk", ["--scope", "admin"]);
  });

  afterAll(async () => {
    await server.stop();
    await script[Symbol.asyncDispose]();
  });

  describe.each(sdks)("the SDK for $name", (sdk) => {
    beforeAll(() => buildSdk(sdk), BUILD_MS);

    it("does what its example shows", async () => {
      const env = { ...environment(), ...(sdk.isTcpOnly ? byTcp() : {}) };
      expect(await outputOf(sdk.example, env)).toBe("hello\none\ntwo\nkept\nnot there\n");
    });

    const own = places.filter(({ kind }) => kind !== "unix" || !sdk.isTcpOnly);
    describe.each(own)("by $place", ({ kind, variables }) => {
      const names = { name: `${sdk.name}-${kind}`, dir: project() };
      let outcomes: readonly Outcome[];
      beforeAll(async () => {
        outcomes = await runScenarios(sdk, "real", { ...environment(), ...named(names), ...variables() });
      }, RUN_MS);

      it.for(real)("$id: $about", ({ id, may_be_unsupported: mayBe }, { skip }) => {
        const own = outcomes.filter(({ scenario }) => scenario === id);
        skip(mayBe === true && own.some(isUnsupported), "the server says that it does not do this");
        judge(sdk, readScenarios(names).scenarios.find((scenario) => scenario.id === id) as Scenario, own);
      });
    });

    it.skipIf(sdk.startsNothing)("starts the user's daemon where none is up, and uses the one that is", async () => {
      const own = clientOf(actor);
      const program = join(actor.folder(), "agentkernel");
      const words = programOf(actor).map((word) => `'${word}'`);
      writeFileSync(program, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
      const env = {
        PATH: process.env.PATH ?? "/usr/bin:/bin",
        ...environmentOf(own),
        AGENTKERNEL_PROGRAM: program,
        // Neither is asked.
        AGENTKERNEL_BASE_URL: "http://127.0.0.1:9",
      };
      const status = async () =>
        JSON.parse((await outputOf([program, "daemon", "status", "--json"], env)) || "{}").data;
      try {
        const pids = [];
        for (let times = 0; times < 2; times++) {
          const [outcome] = await runScenarios(sdk, "local", env, localPath);
          expect(outcome).toMatchObject({ result: { stdout: "hello\n" } });
          pids.push((await status()).pid);
        }
        expect(pids[0]).toBe(pids[1]);
      } finally {
        await outputOf([program, "daemon", "stop"], env);
      }
      await expect(
        runScenarios(sdk, "local", { ...env, AGENTKERNEL_PROGRAM: "/nonexistent/ak" }, localPath),
      ).rejects.toThrow(/\/nonexistent\/ak cannot be started/);
    });

    // Each of these is the only one for its server's name, so that one unknown thing does not hide another.
    it.each(unknown)("refuses $about ($id)", async ({ server: only }) => {
      const env = { ...environment(), AGENTKERNEL_BASE_URL: `${script.url}/${sdk.name}/${only}` };
      await expect(runScenarios(sdk, only, env, unknownPath)).rejects.toThrow(/of_tomorrow/);
      expect(script.seen(sdk.name, only)).toEqual([]);
    });

    describe("with a server that misbehaves", () => {
      let outcomes: readonly Outcome[];
      beforeAll(async () => {
        const url = `${script.url}/${sdk.name}`;
        outcomes = await runScenarios(sdk, "scripted", { ...environment(), CONFORMANCE_SCRIPTED_URL: url });
      }, RUN_MS);

      it.each(scripted)("$id: $about", (scenario) => {
        judge(sdk, scenario, outcomes);
        const seen = script.seen(sdk.name, scenario.id);
        const expected = (scenario.requests ?? []).map(({ after_ms: _, ...request }) => request);
        expect(difference(expected, seen, "the requests")).toBeNull();
        for (const [index, { after_ms: afterMs }] of (scenario.requests ?? []).entries()) {
          if (afterMs === undefined) continue;
          expect((seen[index]?.atMs ?? 0) - (seen[index - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(afterMs);
        }
      });
    });
  });
}

function judge(sdk: Sdk, { id, steps }: Scenario, outcomes: readonly Outcome[]): void {
  for (const [index, { call, expect: expected, skip }] of steps.entries()) {
    if (skip !== undefined && sdk.name in skip) continue;
    const { scenario: _, step: __, ...came } = outcomes.find((one) => one.scenario === id && one.step === index) ?? {};
    const joined = "events" in came && came.events !== undefined ? { ...came, events: joinOutput(came.events) } : came;
    const missed = "error" in expected ? {} : { error: undefined };
    expect(difference({ ...missed, ...expected }, joined, `step ${index} (${call})`)).toBeNull();
  }
}

function isUnsupported({ error }: Outcome): boolean {
  return difference({ kind: "api", code: "unsupported" }, error) === null;
}

function byTcp(): Readonly<Record<string, string>> {
  return { AGENTKERNEL_BASE_URL: server.url, AGENTKERNEL_API_KEY: key };
}

function environment(): Readonly<Record<string, string>> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", ...environmentOf(server.actor) };
}

function named({ name, dir }: { readonly name: string; readonly dir: string }): Readonly<Record<string, string>> {
  return { CONFORMANCE_NAME: name, CONFORMANCE_DIR: dir };
}

function project(): string {
  const folder = actor.folder();
  writeFileSync(join(folder, "there.txt"), "text\n");
  return folder;
}
