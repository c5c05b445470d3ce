import { cpSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors, root, user } from "../support/actors.js";
import { type Database, startDatabase } from "../support/network-world/database.js";
import { EVERYWHERE, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { makeProject } from "../support/project.js";
import { clients, LARGE_BYTES } from "./network-clients/clients.js";
import { buildPrograms } from "./network-clients/programs.js";
import { CONTENT, makeServed } from "./network-clients/served.js";

const OVER_IPV4 = "four.allowed.example.com";
const OVER_IPV6 = "six.allowed.example.com";
const DENIED = "denied.example.com";
const HOSTS = [OVER_IPV4, OVER_IPV6, DENIED];
/** What a program may take to find out that it may not; most of it is the program's own start. */
const AT_ONCE_MS = 8_000;

const withoutProxy = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy";

/** One command after the other, each in a folder of its own, with its output and the time it took. */
function script(commands: readonly string[]): string {
  const parts = commands.map(
    (command, i) => `mkdir /tmp/part-${i} && cd /tmp/part-${i}
began=$(date +%s%3N); ( ${command} ) >../out-${i} 2>../err-${i}; status=$?; ended=$(date +%s%3N)
printf '%s\\0%s\\0' $status $((ended - began)); cat ../out-${i}; printf '\\0'; cat ../err-${i}; printf '\\0'`,
  );
  return `${withoutProxy}\n${parts.join("\n")}`;
}

interface Part {
  readonly status: number;
  readonly ms: number;
  readonly stdout: string;
  readonly stderr: string;
}

function parts(output: string): readonly Part[] {
  const fields = output.split("\0").slice(0, -1);
  return Array.from({ length: fields.length / 4 }, (_, i) => {
    const [status = "", ms = "", stdout = "", stderr = ""] = fields.slice(4 * i);
    return { status: Number(status), ms: Number(ms), stdout, stderr };
  });
}

describe.skipIf(whyNoWorld() !== null)("programs that know nothing of a proxy", () => {
  let world: NetworkWorld;
  let database: Database;
  const projects = new Map<string, string>();

  beforeAll(async () => {
    world = await NetworkWorld.start();
    const folder = (root ?? actors[0])?.folder("clients") ?? "";
    const served = makeServed(folder, HOSTS);
    await world.listen(EVERYWHERE, 80, { kind: "http", ...served });
    await world.listen(EVERYWHERE, 443, { kind: "http", ...served, tls: world.tls(...HOSTS) });
    await world.listen(EVERYWHERE, 7, { kind: "echo" });
    await world.listen(EVERYWHERE, 25, { kind: "echo", greeting: CONTENT });
    await world.listen(EVERYWHERE, 9000, { kind: "source", bytes: LARGE_BYTES });
    await world.name(OVER_IPV4, [WORLD.public4]);
    await world.name(OVER_IPV6, [WORLD.public6]);
    await world.name(DENIED, [WORLD.otherPublic4, WORLD.otherPublic6]);
    const sql = `create table demo as select '${CONTENT}'::text as content`;
    if (user !== undefined) database = await startDatabase(world, user, sql);
    for (const actor of actors) {
      const project = makeProject(actor, { "authority.crt": world.authority.certificate }).path;
      projects.set(actor.name, project);
      if (actor === actors[0]) buildPrograms(project);
      else cpSync(projects.get(actors[0]?.name ?? "") ?? "", project, { recursive: true });
    }
  }, 180_000);
  afterAll(async () => {
    await database?.stop();
    await world?.stop();
  });

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();
    const run = async (network: readonly string[], commands: readonly string[]) => {
      const words = ["run", ...network, "--", "sh", "-c", script(commands)];
      const result = await world.runCli(actor, words, { cwd: projects.get(actor.name) ?? "" });
      expect(result.status, result.stderr).toBe(0);
      return { parts: parts(result.stdout), stderr: result.stderr };
    };

    it.each(clients)("$name", async ({ command, refusal }) => {
      const on = await run(["--network", "on"], [command(DENIED)]);
      expect(on.parts).toMatchObject([{ status: 0, stdout: expect.stringContaining(CONTENT) }]);
      await world.takeRecord();

      const allow = ["--allow-domain", "*.allowed.example.com"];
      const listed = await run(allow, [command(OVER_IPV4), command(OVER_IPV6), command(DENIED)]);
      expect(listed.parts).toMatchObject([
        { status: 0, stdout: expect.stringContaining(CONTENT) },
        { status: 0, stdout: expect.stringContaining(CONTENT) },
        { stdout: expect.not.stringContaining(CONTENT), stderr: expect.stringMatching(refusal) },
      ]);
      expect(listed.parts[2]?.status).not.toBe(0);
      expect(listed.parts[2]?.ms).toBeLessThan(AT_ONCE_MS);
      expect(listed.stderr).toMatch(
        /blocked: denied\.example\.com.*, allow with --allow-domain denied\.example\.com\n/,
      );
      const { queries, connections } = await world.takeRecord();
      expect(queries.filter(({ name }) => !/^(four|six)\.allowed\.example\.com$/.test(name))).toEqual([]);
      const refused: readonly string[] = [WORLD.otherPublic4, WORLD.otherPublic6];
      expect(connections.filter(({ address }) => refused.includes(address))).toEqual([]);

      const off = await run(["--no-network"], [command(OVER_IPV4)]);
      expect(off.parts).toMatchObject([{ stderr: expect.stringMatching(refusal) }]);
      expect(off.parts[0]?.status).not.toBe(0);
      expect(off.parts[0]?.ms).toBeLessThan(AT_ONCE_MS);
      expect(await world.takeRecord()).toEqual({ queries: [], connections: [], requests: [] });
    });
  });
});
