/** Servers inside sandboxes, over HTTP: what is passed on, what is not, and who may. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { actors } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";

/** Answers with what it was asked, speaks WebSocket at /ws, and tries to speak for the server in front of it. */
const SERVER = `
import base64, hashlib, json, socketserver, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        if self.headers.get("Upgrade") == "websocket":
            return self.websocket()
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        text = json.dumps({"method": self.command, "path": self.path, "headers": dict(self.headers.items()), "body": body})
        if self.path.startswith("/large"):
            text = "x" * 3000000
        self.send_response(418 if self.path.startswith("/teapot") else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("X-Inside", "yes")
        for name in ["Set-Cookie", "Content-Security-Policy", "Clear-Site-Data", "Service-Worker-Allowed", "X-Request-Id"]:
            self.send_header(name, "of-the-sandbox")
        self.send_header("X-Hop", "of-the-hop")
        self.send_header("Connection", "X-Hop")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer
    def websocket(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        told = json.dumps({"path": self.path, "key": self.headers.get("Authorization")}).encode()
        self.wfile.write(bytes([0x81, len(told)]) + told)
        self.rfile.read(1)
    def log_message(self, *words): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
Server(("127.0.0.1", 3000), Handler).serve_forever()
`;

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  const keys = { admin: "", roomy: "", small: "", other: "", reader: "", narrow: "" };
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    const scopes = ["--scope", "sandboxes"];
    keys.admin = await server.key("admin", ["--scope", "admin"]);
    keys.roomy = await server.key("roomy", [...scopes, "--port", "3000-3009"]);
    keys.small = await server.key("small", [...scopes, "--sandbox", "web"]);
    keys.other = await server.key("other", [...scopes, "--port", "1-65535"]);
    keys.reader = await server.key("reader", ["--scope", "read", "--sandbox", "web"]);
    keys.narrow = await server.key("narrow", [...scopes, "--sandbox", "web", "--port", "3001"]);
    const body = { name: "web", network: false };
    const made = await server.ask("POST", "/sandboxes", { key: keys.roomy, body });
    expect(made.status, made.text).toBe(201);
    const exec = { command: ["python3", "-c", SERVER], detach: true };
    await server.ask("POST", "/sandboxes/web/exec", { key: keys.roomy, body: exec });
    while ((await inside("/")).status === 502);
    expect((await inside("/")).status).toBe(200);
  });
  afterAll(async () => {
    await server.ask("DELETE", "/sandboxes/web?force=true", { key: keys.admin });
    expect(await server.stop()).toBe(0);
  });
  const inside = (
    path: string,
    more: {
      method?: string;
      key?: string;
      headers?: Record<string, string>;
      body?: string;
      port?: number | string;
    } = {},
  ) =>
    fetch(`http://127.0.0.1:${server.port}/sandboxes/web/ports/${more.port ?? 3000}${path}`, {
      method: more.method ?? "GET",
      headers: { authorization: `Bearer ${more.key ?? keys.roomy}`, ...more.headers },
      ...(more.body === undefined ? {} : { body: more.body }),
    });

  it.each(["GET", "POST", "PUT", "PATCH", "DELETE"])(
    "%s is passed on with path, query and body as they were sent",
    async (method) => {
      const body = method === "GET" ? undefined : "käse";
      const answer = await inside("/a%2Fb/c?x=1&x=2&y=%20", { method, ...(body === undefined ? {} : { body }) });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ method, path: "/a%2Fb/c?x=1&x=2&y=%20", body: body ?? "" });
    },
  );

  it("the key, cookies and what belongs to one connection stay outside", async () => {
    const headers = { cookie: "session=1", "x-mine": "kept", "accept-language": "de" };
    const { headers: seen } = (await (await inside("/", { headers })).json()) as { headers: Record<string, string> };
    const names = Object.keys(seen).map((name) => name.toLowerCase());
    for (const name of ["authorization", "cookie"]) expect(names).not.toContain(name);
    expect(JSON.stringify(seen)).not.toContain(keys.roomy);
    expect(seen).toMatchObject({
      Host: "localhost:3000",
      "x-mine": "kept",
      "accept-language": "de",
      Connection: "close",
    });
  });

  it("status, headers and large bodies come back; what would speak for this server does not", async () => {
    const answer = await inside("/teapot");
    expect(answer.status).toBe(418);
    expect(answer.headers.get("x-inside")).toBe("yes");
    expect(answer.headers.get("content-security-policy")).toBe("sandbox allow-scripts allow-forms");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    for (const name of ["set-cookie", "clear-site-data", "service-worker-allowed", "x-hop"]) {
      expect(answer.headers.get(name), name).toBeNull();
    }
    expect(answer.headers.get("x-request-id")).not.toBe("of-the-sandbox");
    expect((await (await inside("/large")).text()).length).toBe(3_000_000);
  });

  it("a WebSocket is passed on, without the key", async () => {
    const url = `ws://127.0.0.1:${server.port}/sandboxes/web/ports/3000/ws?a=1`;
    const ws = new WebSocket(url, { headers: { authorization: `Bearer ${keys.roomy}` } });
    const told = await new Promise<string>((resolve, reject) => {
      ws.once("message", (data: Buffer) => resolve(String(data)));
      ws.once("error", reject);
    });
    expect(JSON.parse(told)).toEqual({ path: "/ws?a=1", key: null });
    ws.terminate();
    const refused = new WebSocket(url, { headers: { authorization: `Bearer ${keys.small}` } });
    const status = await new Promise((resolve) =>
      refused.once("unexpected-response", (_, { statusCode }) => resolve(statusCode)),
    );
    expect(status).toBe(403);
    refused.on("error", () => {}).terminate();
  });

  it("a port is reached by keys that have it, of sandboxes that they have", async () => {
    expect((await inside("/", { key: keys.admin })).status).toBe(200);
    for (const [name, status, code] of [
      ["small", 403, "forbidden"],
      ["narrow", 403, "forbidden"],
      ["reader", 403, "forbidden"],
      ["other", 404, "not_found"],
    ] as const) {
      const answer = await inside("/", { key: keys[name] });
      expect([answer.status, await answer.json()], name).toEqual([
        status,
        expect.objectContaining({ error: expect.objectContaining({ code }) }),
      ]);
    }
    expect((await inside("/", { port: 22 })).status).toBe(403);
    expect((await inside("/", { key: "wrong" })).status).toBe(401);
    expect((await inside("/", { headers: { origin: "https://evil.example" } })).status).toBe(403);
  });

  it("where nothing listens, and what is no port, is said", async () => {
    const nothing = await inside("/", { port: 3009 });
    expect([nothing.status, await nothing.json()]).toMatchObject([
      502,
      { error: { code: "tool_failed", details: { field: "port" } } },
    ]);
    for (const port of ["0", "65536", "x", "080", "-1"])
      expect((await inside("/", { port, key: keys.admin })).status, port).toBe(400);
    const idle = { name: "idle", network: false, start: false };
    expect((await server.ask("POST", "/sandboxes", { key: keys.roomy, body: idle })).status).toBe(201);
    const unstarted = await server.ask("GET", "/sandboxes/idle/ports/3000/", { key: keys.roomy });
    expect([unstarted.status, unstarted.json.error.code]).toEqual([409, "conflict"]);
    await server.ask("DELETE", "/sandboxes/idle", { key: keys.roomy });
  });

  it("a target that climbs stays below the port", async () => {
    const path = "/sandboxes/web/ports/3000/../../../../version";
    const { status } = await server.ask("GET", path, { key: keys.roomy });
    expect(status).toBe(400);
  });

  it("only who acts as the user publishes ports, mounts and binds secrets", async () => {
    const source = actor.folder("shown");
    const asked = {
      publish: [{ guest_port: 3000 }],
      mounts: [{ host: source, guest: "/deps" }],
      secrets: [{ name: "TOKEN", host: "api.example.com" }],
    };
    for (const [field, value] of Object.entries(asked)) {
      const body = { name: "more", network: false, start: false, [field]: value };
      for (const key of [keys.roomy, keys.other]) {
        const { status, json } = await server.ask("POST", "/sandboxes", { key, body });
        expect([status, json.error], field).toMatchObject([403, { code: "forbidden", details: { field } }]);
      }
    }
    const body = { name: "more", network: false, ...asked };
    const made = await server.ask("POST", "/sandboxes", { key: keys.admin, body: { ...body, secrets: undefined } });
    expect(made.status, made.text).toBe(201);
    expect(made.json.data.ports).toEqual([{ address: "127.0.0.1", host_port: expect.any(Number), guest_port: 3000 }]);
    const command = ["sh", "-c", "test -d /deps && ! touch /deps/x 2>/dev/null && echo shown"];
    const ran = await server.ask("POST", "/sandboxes/more/exec", { key: keys.admin, body: { command } });
    expect(ran.json.data.stdout).toBe("shown\n");
    const wrong = { ...body, name: "wrong", mounts: [{ host: `${source}/none`, guest: "/deps" }], secrets: undefined };
    const refused = await server.ask("POST", "/sandboxes", { key: keys.admin, body: wrong });
    expect(refused.json.error).toMatchObject({
      message: expect.stringMatching(/^mounts: .*does not exist$/),
      details: { field: "mounts" },
    });
    await server.ask("DELETE", "/sandboxes/more?force=true", { key: keys.admin });
  });
});
