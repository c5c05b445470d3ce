/** Real programs, told of the sandbox's authority by the variables of trust.ts and of nothing else. */
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Listener, startListener } from "../listener.js";
import { HOST, SecretWorld, VALUE } from "../testing/secret-world.js";
import { allowlist, PUBLIC, portOf } from "../testing/world.js";
import { trustEnvironment, trustFiles } from "./trust.js";

const run = promisify(execFile);
const has = (program: string, ...probe: readonly string[]) => spawnSync(program, probe).status === 0;

let world: SecretWorld;
let folder: string;
let listener: Listener;
let environment: Record<string, string>;

beforeAll(async () => {
  world = new SecretWorld();
  await world.serveHttp((asked, response) => response.end(`you sent ${asked.headers.authorization}`));
  listener = await startListener({
    sandbox: "programs",
    policy: () => allowlist({ domain: HOST }),
    dial: world.dial,
    resolve: world.resolve,
    onDecision: world.note,
    secrets: world.secrets,
  });
  folder = mkdtempSync(join(tmpdir(), "agentkernel-programs-"));
  const paths = { bundle: join(folder, "bundle.pem"), own: join(folder, "own.pem") };
  const files = trustFiles(world.secrets.authority.certificatePem, null);
  writeFileSync(paths.bundle, files.bundle);
  writeFileSync(paths.own, files.own);
  const proxy = `http://${listener.host}:${listener.port}`;
  environment = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    https_proxy: proxy,
    HTTPS_PROXY: proxy,
    API_KEY: world.placeholder(),
    ...trustEnvironment(paths),
  };
});
afterAll(async () => {
  await listener.close();
  await world.end();
  rmSync(folder, { recursive: true });
});

/** The program's output; the secret must have reached the server and not the program. */
async function expectSecret(program: string, args: readonly string[], env = environment): Promise<string> {
  const before = world.received.length;
  const { stdout } = await run(program, [...args], { env });
  expect(world.received.slice(before).map(({ headers }) => headers.authorization)).toEqual([`Bearer ${VALUE}`]);
  expect(stdout).toContain("you sent Bearer agentkernel-secret-");
  expect(stdout).not.toContain(VALUE);
  return stdout;
}

const shell = (command: string) => ["-c", command];

describe("with the variables of trust and a placeholder", () => {
  it.skipIf(!has("curl", "--version"))("curl uses the secret and does not see it", async () => {
    await expectSecret("sh", shell(`curl -sS -H "Authorization: Bearer $API_KEY" https://${HOST}/`));
  });

  it.skipIf(!has("curl", "--version"))(
    "curl that insists on other authorities refuses, and the log says so",
    async () => {
      const strange = { ...environment, CURL_CA_BUNDLE: join(folder, "strange.pem") };
      writeFileSync(strange.CURL_CA_BUNDLE, world.certificate.cert);
      await expect(run("sh", shell(`curl -sS https://${HOST}/`), { env: strange })).rejects.toThrow(/certificate/);
      const { rule } = await world.decision((one) => one.phase === "ended" && one.verdict === "denied");
      expect(rule).toMatch(/did not finish TLS with the sandbox's own authority: .*unknown ca/);
    },
  );

  it.skipIf(!has("python3", "--version"))("python's urllib", async () => {
    const script = `
import os, urllib.request
asked = urllib.request.Request("https://${HOST}/", headers={"Authorization": "Bearer " + os.environ["API_KEY"]})
print(urllib.request.urlopen(asked).read().decode())`;
    await expectSecret("python3", ["-c", script]);
  });

  it.skipIf(!has("python3", "-c", "import requests"))("python's requests", async () => {
    const script = `
import os, requests
print(requests.get("https://${HOST}/", headers={"Authorization": "Bearer " + os.environ["API_KEY"]}).text)`;
    await expectSecret("python3", ["-c", script]);
  });

  it("node's fetch, which knows no proxy and is captured", async () => {
    const gateway = world.secretGateway();
    const capture = createServer({ allowHalfOpen: true }, (socket) => {
      void gateway.connect({ kind: "name", name: HOST, port }, socket).then((refused) => refused && socket.destroy());
    });
    capture.listen(0, "127.0.0.1");
    await once(capture, "listening");
    const port = portOf(capture);
    await world.adopt(
      PUBLIC,
      port,
      createHttpsServer(world.certificate, (asked, response) => {
        world.received.push({
          method: "",
          url: "",
          body: "",
          headers: { authorization: `${asked.headers.authorization}` },
        });
        response.end(`you sent ${asked.headers.authorization}`);
      }),
    );
    const script = `
require("node:dns").lookup = (name, options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]);
fetch("https://${HOST}:${port}/", { headers: { authorization: "Bearer " + process.env.API_KEY } })
  .then((answer) => answer.text()).then(console.log);`;
    try {
      await expectSecret(process.execPath, ["-e", script]);
    } finally {
      capture.close();
    }
  });
});
