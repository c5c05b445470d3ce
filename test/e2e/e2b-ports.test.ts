/** Ports of sandboxes of E2B's clients, by the name of the host: each sandbox's own, and nothing of another. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { actors } from "../support/actors.js";
import { E2bServer, type RawSandbox } from "../support/e2b/e2b-server.js";
import { runCli } from "../support/run-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("nobody runs the tests");

let server: E2bServer;
let key: string;
let sandbox: RawSandbox;

beforeAll(async () => {
  server = await E2bServer.start(actor);
  key = await server.key("mine");
  sandbox = await server.create(key);
});
afterAll(async () => {
  await runCli(server.api.actor, ["stop", "--all"]);
  expect(await server.stop()).toBe(0);
});

describe("ports", () => {
  const serving = `python3 - <<'EOF' >/dev/null 2>&1 &
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("%s %s %s" % (self.path, self.headers.get("Host"), self.headers.get("X-Access-Token"))).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", 3000), H).serve_forever()
EOF
for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null && break; sleep 0.05; done`;

  it("are reached by the name of the host, each sandbox's alone, without what is for us", async () => {
    await server.run(sandbox, serving);
    const host = `3000-${sandbox.sandboxID}.${sandbox.domain}`;
    const answer = await server.byHost(host, "/a?b=c", { "x-access-token": "hidden" });
    expect([answer.status, answer.text]).toEqual([200, `/a?b=c ${host} None`]);
    const second = await server.create(key);
    const closed = await server.byHost(`3000-${second.sandboxID}.${second.domain}`);
    expect([closed.status, closed.json.message]).toEqual([502, expect.stringContaining("port 3000 is not open")]);
    // The header names one sandbox and the host another: the host is where a browser would go.
    const mixed = await server.byHost(`3000-${second.sandboxID}.localhost`, "/", {
      "e2b-sandbox-id": sandbox.sandboxID,
    });
    expect(mixed.status).toBe(502);
    for (const name of [
      `3000-nobody.localhost`,
      `0-${sandbox.sandboxID}.localhost`,
      `99999-${sandbox.sandboxID}.localhost`,
    ]) {
      expect([400, 403, 404, 502], name).toContain((await server.byHost(name)).status);
    }
    await server.control(key, "DELETE", `/sandboxes/${second.sandboxID}`);
  });

  it("that are not public want the traffic token", async () => {
    const own = await server.create(key, { network: { allowPublicTraffic: false } });
    await server.run(own, serving);
    const host = `3000-${own.sandboxID}.localhost`;
    expect((await server.byHost(host)).status).toBe(403);
    expect((await server.byHost(host, "/", { "e2b-traffic-access-token": own.envdAccessToken })).status).toBe(403);
    expect((await server.byHost(host, "/", { "e2b-traffic-access-token": own.trafficAccessToken })).status).toBe(200);
    await server.control(key, "DELETE", `/sandboxes/${own.sandboxID}`);
  });

  it("of a sandbox that no client of E2B knows are closed", async () => {
    await runCli(server.api.actor, ["create", "--workspace", "none", "--start", "plain"]);
    expect((await server.byHost("3000-plain.localhost")).status).toBe(502);
    expect((await server.envd({ sandboxID: "plain", envdAccessToken: "x" }, "GET", "/health")).status).toBe(502);
    await runCli(server.api.actor, ["remove", "--force", "plain"]);
  });

  it("names of other domains are no names of ours, and pages of other sites may not ask", async () => {
    expect((await server.byHost("api.attacker.example", "/v2/sandboxes", { "x-api-key": key })).status).toBe(403);
    const host = `3000-${sandbox.sandboxID}.localhost:${server.api.port}`;
    expect((await server.byHost(host, "/", { origin: "http://attacker.example" })).status).toBe(403);
    expect((await server.byHost(host, "/", { origin: `http://${host}` })).status).toBe(200);
  });

  it("carry WebSockets", async () => {
    const echo = `python3 - <<'EOF' >/dev/null 2>&1 &
import base64, hashlib, socket
s = socket.create_server(("127.0.0.1", 3001)); c, _ = s.accept(); head = b""
while b"\\r\\n\\r\\n" not in head: head += c.recv(4096)
key = [l.split(b": ")[1] for l in head.split(b"\\r\\n") if l.lower().startswith(b"sec-websocket-key")][0]
mark = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
c.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + mark + b"\\r\\n\\r\\n")
f = c.recv(4096); n = f[1] & 127; m = f[2:6]
text = bytes(b ^ m[i % 4] for i, b in enumerate(f[6:6 + n])); c.sendall(bytes([0x81, n]) + text); c.recv(10)
EOF
sleep 1`;
    await server.run(sandbox, echo);
    const host = `3001-${sandbox.sandboxID}.localhost`;
    const ws = new WebSocket(`ws://127.0.0.1:${server.api.port}/`, { headers: { host } });
    const said = await new Promise<string>((resolve, reject) => {
      ws.once("open", () => ws.send("through"));
      ws.once("message", (text) => resolve(String(text)));
      ws.once("error", reject);
    });
    expect(said).toBe("through");
    ws.terminate();
    const refused = new WebSocket(`ws://127.0.0.1:${server.api.port}/`, { headers: { host: "3001-nobody.localhost" } });
    const error = await new Promise<Error>((resolve) => refused.once("error", resolve));
    expect(String(error)).toContain("502");
  });
});
