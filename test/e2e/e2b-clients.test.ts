/**
 * E2B's own SDKs, as their registries have them, against `serve --e2b`: each public method. The server and the programs
 * have loopback and no other network, so an SDK that asked anybody else would fail here. The newest of each language is
 * tried on every change, and all versions by `npm run test:clients`, which writes docs/e2b-methods.md.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, programOf, root } from "../support/actors.js";
import { isThorough } from "../support/chosen-backend.js";
import { E2bServer } from "../support/e2b/e2b-server.js";
import { methodsOnPage, type Tried, writeMethodsPage } from "../support/e2b/methods-table.js";
import { installedSdk, type SdkLanguage, sdkVersions } from "../support/e2b/sdks.js";
import { OnlyLoopback } from "../support/only-loopback.js";
import { repository } from "../support/repository.js";
import { runCli } from "../support/run-cli.js";

const scenarios = join(repository, "test", "compat-clients", "e2b");
const languages = Object.keys(sdkVersions) as readonly SdkLanguage[];
const wanted = languages.flatMap((language) =>
  sdkVersions[language].slice(isThorough ? 0 : -1).map((version) => ({ language, version })),
);

/** Not for users of the SDK: its own parts, fields, and what a server has no say in. */
const notMethods: Readonly<Record<SdkLanguage, RegExp>> = {
  javascript:
    /^(Sandbox\.(default\w+|createSandbox|forkSandbox|connectSandbox|resolveOpts|boundOpts)|Sandbox#(resolveApiOpts|getMcp\w+)|git\.(runGit|runShell|getRemoteUrl|resolveRemoteName|withRemoteCredentials|hasUpstream))$/,
  python:
    /^Sandbox\.(commands|files|git|pty|connection_config|default_\w+|envd_\w+|get_mcp_\w+|mcp_port|sandbox_domain|traffic_access_token)$/,
};

interface Said {
  readonly methods: { readonly all: readonly string[]; readonly refused: Readonly<Record<string, string>> };
  readonly results: Readonly<Record<string, string>>;
}

describe.runIf(root !== undefined)("E2B's SDKs", () => {
  const actor = root as Actor;
  const tried: Record<SdkLanguage, Map<string, Set<string>>> = { javascript: new Map(), python: new Map() };
  let place: OnlyLoopback;
  let server: E2bServer;
  let key: string;

  beforeAll(async () => {
    for (const { language, version } of wanted) await installedSdk(language, version);
    place = await OnlyLoopback.make();
    server = await E2bServer.start({ ...actor, program: place.words(programOf(actor), actor) });
    key = await server.key("sdks", ["--network", "on", "--max-sandboxes", "100"]);
  }, 900_000);
  afterAll(async () => {
    await runCli(server.api.actor, ["stop", "--all"]);
    expect(await server.stop()).toBe(0);
    await place.end();
    const versions = (one: SdkLanguage) => new Set([...tried[one].values()].flatMap((known) => [...known]));
    const isAll = languages.every((one) => versions(one).size === sdkVersions[one].length);
    if (isAll) writeMethodsPage(tried satisfies Record<SdkLanguage, Tried>);
  });

  async function said(argv: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Said> {
    const url = server.api.url;
    const env = { PATH: process.env.PATH ?? "", E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_API_KEY: key, ...more };
    const home = actor.folder("home");
    const { stdout, stderr } = await place.run(argv, { actor, env: { ...env, HOME: home }, cwd: home }, 300_000);
    const line = stdout.split("\n").find((one) => one.startsWith('{"methods"'));
    if (line === undefined) throw new Error(`${stdout}\n${stderr}`);
    return JSON.parse(line);
  }

  const kinds: Readonly<Record<SdkLanguage, readonly (readonly string[])[]>> = {
    javascript: [[process.execPath, join(scenarios, "scenario.mjs")]],
    python: [
      ["python3", join(scenarios, "scenario.py")],
      ["python3", join(scenarios, "scenario.py")],
    ],
  };

  it.each(wanted)(
    "$language $version: every method works, or says what to use",
    { timeout: 600_000 },
    async ({ language, version }) => {
      const folder = await installedSdk(language, version);
      // Programs beside one another, as many as there are kinds of the SDK.
      const all = await Promise.all(
        kinds[language].map((words, index) => said([...words, folder, index === 0 ? "sync" : "async"])),
      );
      for (const { methods, results } of all) {
        expect(Object.fromEntries(Object.entries(results).filter(([, result]) => result !== "ok"))).toEqual({});
        const untried = methods.all.filter((one) => results[one] === undefined && !notMethods[language].test(one));
        expect(untried).toEqual([]);
        for (const [method, told] of Object.entries(methods.refused)) {
          expect(told, method).toMatch(/501: agentkernel does not serve .+ to clients of E2B \(.+\)/);
        }
        for (const method of methods.all.filter((one) => results[one] === "ok")) {
          tried[language].set(method, (tried[language].get(method) ?? new Set()).add(version));
        }
      }
      const there = [...tried[language]].filter(([, versions]) => versions.has(version)).map(([method]) => method);
      if (!isThorough) expect(there.sort()).toEqual([...methodsOnPage(language, version)].sort());
    },
  );
});
