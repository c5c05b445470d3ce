/** E2B's API as a hostile or careless client may use it. What their SDKs do with it is in e2b-clients.test.ts. */
import { createHash } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { E2bServer, envelope, type RawSandbox } from "../support/e2b/e2b-server.js";
import { runCli } from "../support/run-cli.js";

const [actor] = actors;
if (actor === undefined) throw new Error("nobody runs the tests");

let server: E2bServer;
let key: string;
let other: string;
let sandbox: RawSandbox;

beforeAll(async () => {
  server = await E2bServer.start(actor);
  key = await server.key("mine", ["--network", "on"]);
  other = await server.key("theirs");
  sandbox = await server.create(key, { metadata: { who: "me" } });
});
afterAll(async () => {
  // Also those of a test that failed half-way.
  await runCli(server.api.actor, ["stop", "--all"]);
  expect(await server.stop()).toBe(0);
});

function signed(path: string, operation: string, token: string, expiration?: number): string {
  const raw = `${path}:${operation}::${token}${expiration === undefined ? "" : `:${expiration}`}`;
  return `v1_${createHash("sha256").update(raw).digest("base64").replace(/=+$/, "")}`;
}

describe("keys", () => {
  it("no key, a wrong one and one of the wrong form are refused alike", async () => {
    const none = await server.api.ask("GET", "/v2/sandboxes", { key: null, headers: { host: "api.localhost" } });
    expect([none.status, none.json.code]).toEqual([401, 401]);
    for (const bad of [
      "e2b_00",
      "e2b_",
      "nonsense",
      `${key}00`,
      key.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    ]) {
      const refused = await server.control(bad, "GET", "/v2/sandboxes");
      expect([refused.status, refused.json.message], bad).toEqual([401, expect.stringContaining("not valid")]);
    }
  });

  it("another key sees nothing of a sandbox and can do nothing to it", async () => {
    const { sandboxID } = sandbox;
    expect((await server.control(other, "GET", "/v2/sandboxes")).json).toEqual([]);
    for (const [method, path, body] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/pause", {}],
      ["POST", "/connect", { timeout: 10 }],
      ["POST", "/timeout", { timeout: 1 }],
      ["POST", "/fork", {}],
      ["POST", "/snapshots", {}],
      ["PUT", "/network", {}],
      ["GET", "/metrics"],
    ] as const) {
      const refused = await server.control(other, method, `/sandboxes/${sandboxID}${path}`, body);
      expect([refused.status, refused.json.code], path).toEqual([404, 404]);
    }
    expect((await server.control(key, "GET", `/sandboxes/${sandboxID}`)).json.state).toBe("running");
  });

  it("a key without the scope is refused, and a revoked one ends its sandboxes' tokens", async () => {
    const weak = await server.key("weak", ["--scope", "read"]);
    expect((await server.control(weak, "POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(403);
    const brief = await server.key("brief");
    const own = await server.create(brief);
    expect((await server.run(own, "echo yes")).stdout).toBe("yes\n");
    await runCli(server.api.actor, ["keys", "revoke", "brief"]);
    expect((await server.envd(own, "GET", "/files?path=/etc/hostname")).status).toBe(401);
    await runCli(server.api.actor, ["remove", "--force", own.sandboxID]);
    // What was kept beside it is gone with it.
    expect((await server.envd(own, "GET", "/health")).status).toBe(502);
  });

  it("nothing is asked for beyond the key", async () => {
    for (const body of [
      { allow_internet_access: true },
      { network: { allowOut: ["example.com"], denyOut: ["0.0.0.0/0"] } },
    ]) {
      const refused = await server.control(other, "POST", "/v2/sandboxes", { templateID: "base", ...body });
      expect([refused.status, refused.json.message]).toEqual([403, expect.stringContaining("network")]);
    }
    const closed = await server.create(other, { allow_internet_access: false });
    const opened = await server.control(other, "PUT", `/sandboxes/${closed.sandboxID}/network`, {});
    expect(opened.status).toBe(403);
    await server.control(other, "DELETE", `/sandboxes/${closed.sandboxID}`);
  });

  it("a field that is not known, and rules that cannot be kept, are refused", async () => {
    for (const [body, status] of [
      [{ allowInternetAccess: false }, 400],
      [{ network: { denyOut: ["10.0.0.0/8"] } }, 400],
      [{ network: { rules: { "example.com": [{}] } } }, 501],
      [{ volumeMounts: [{ name: "a", path: "/a" }] }, 501],
      [{ timeout: -1 }, 400],
    ] as const) {
      const refused = await server.control(key, "POST", "/v2/sandboxes", { templateID: "base", ...body });
      expect(refused.status, JSON.stringify(body)).toBe(status);
    }
    expect((await server.control(key, "GET", "/v2/sandboxes")).json).toHaveLength(1);
  });
});

describe("tokens and signatures", () => {
  it("no token, another sandbox's and a changed one are refused", async () => {
    const second = await server.create(key);
    const changed = sandbox.envdAccessToken.replace(/^./, (first) => (first === "0" ? "1" : "0"));
    for (const token of [
      "",
      second.envdAccessToken,
      sandbox.trafficAccessToken,
      changed,
      `${sandbox.envdAccessToken}0`,
    ]) {
      const asked = { ...sandbox, envdAccessToken: token };
      expect((await server.rpc(asked, "process.Process/List")).status, token).toBe(401);
      expect((await server.envd(asked, "GET", "/files?path=/etc/hostname")).status, token).toBe(401);
    }
    await server.control(key, "DELETE", `/sandboxes/${second.sandboxID}`);
    expect((await server.rpc(second, "process.Process/List")).status).toBe(502);
  });

  it("a signature opens one file for one operation until its time is over", async () => {
    await server.run(sandbox, "echo secret > /home/user/signed; echo other > /home/user/unsigned");
    const { envdAccessToken: token } = sandbox;
    const ask = (method: string, path: string, signature: string, more = "") =>
      server.api.ask(method, `/files?path=${path}&signature=${encodeURIComponent(signature)}${more}`, { key: null });
    expect((await ask("GET", "signed", signed("signed", "read", token))).text).toBe("secret\n");
    const soon = Math.floor(Date.now() / 1000) + 60;
    const dated = signed("signed", "read", token, soon);
    expect((await ask("GET", "signed", dated, `&signature_expiration=${soon}`)).status).toBe(200);
    const past = soon - 120;
    for (const [method, path, signature, more] of [
      ["GET", "unsigned", signed("signed", "read", token)],
      ["POST", "signed", signed("signed", "read", token)],
      ["GET", "signed", signed("signed", "write", token)],
      ["GET", "signed", signed("signed", "read", "")],
      ["GET", "signed", dated, `&signature_expiration=${soon + 1}`],
      ["GET", "signed", dated],
      ["GET", "signed", signed("signed", "read", token, past), `&signature_expiration=${past}`],
      ["GET", "signed", signed("signed", "read", token), "&username=root"],
      ["GET", "signed", "v1_"],
    ] as const) {
      const refused = await ask(method, path, signature, more ?? "");
      expect([refused.status, refused.text.includes("secret")], `${method} ${path} ${more}`).toEqual([401, false]);
    }
  });

  it("ids lead nowhere but to sandboxes", async () => {
    for (const id of ["../keys", "..%2fkeys", "%2e%2e", ".", "a/b", "a%00b", "A", "", "constructor", "__proto__"]) {
      const asked = await server.control(key, "GET", `/sandboxes/${id}`);
      expect([400, 404], id).toContain(asked.status);
      const inside = await server.envd({ sandboxID: encodeURI(id), envdAccessToken: "x" }, "GET", "/health");
      expect([400, 502], id).toContain(inside.status);
    }
  });
});

describe("the Connect protocol", () => {
  const START = "process.Process/Start";
  it("a command's end, output and input", async () => {
    expect(await server.run(sandbox, "echo $A; exit 7", { A: "b" })).toEqual({
      stdout: "b\n",
      end: { exitCode: 7, exited: true, status: "exit status 7" },
    });
    const frames = await server.stream(sandbox, START, { process: { cmd: "/nowhere" }, stdin: false });
    expect(frames).toEqual([
      { flags: 2, message: { error: { code: "invalid_argument", message: expect.any(String) } } },
    ]);
  });

  it("frames that are no messages end the request, and the server goes on", async () => {
    const huge = Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 0x7b]);
    for (const [body, code] of [
      [huge, "resource_exhausted"],
      [Buffer.alloc(0), "invalid_argument"],
      [Buffer.from([0, 0, 0]), "invalid_argument"],
      [envelope({}, 1), "invalid_argument"],
      [envelope({}, 2), "invalid_argument"],
      [envelope(Buffer.from("{")), "invalid_argument"],
      [envelope(Buffer.from("[".repeat(10_000))), "invalid_argument"],
      [envelope({ process: { cmd: "/bin/sh", shell: true } }), "invalid_argument"],
      [envelope({ process: { cmd: "/bin/sh" }, pty: { size: { cols: -1 } } }), "invalid_argument"],
    ] as const) {
      const [frame] = await server.stream(sandbox, START, body);
      expect(frame?.message.error?.code, body.subarray(0, 40).toString("latin1")).toBe(code);
    }
    for (const method of ["process.Process/Nothing", "process.Process/constructor", "__proto__/toString", "x", ""]) {
      expect((await server.rpc(sandbox, method)).status, method).toBe(404);
    }
    expect((await server.run(sandbox, "echo on")).stdout).toBe("on\n");
  });

  it("an input without end reaches the command and no further", async () => {
    const started = server.stream(sandbox, START, {
      process: { cmd: "/bin/sh", args: ["-c", "head -c 1000000 | wc -c"] },
      tag: "eater",
      stdin: true,
    });
    await expect
      .poll(async () =>
        (await server.rpc(sandbox, "process.Process/List")).json.processes.map((one: { tag: string }) => one.tag),
      )
      .toContain("eater");
    const sent = request({
      host: "127.0.0.1",
      port: server.api.port,
      method: "POST",
      path: "/process.Process/StreamInput",
      headers: {
        "content-type": "application/connect+json",
        "e2b-sandbox-id": sandbox.sandboxID,
        "x-access-token": sandbox.envdAccessToken,
      },
    });
    sent.on("error", () => {});
    sent.write(envelope({ start: { process: { tag: "eater" } } }));
    const piece = envelope({ data: { input: { stdin: Buffer.alloc(100_000, "x").toString("base64") } } });
    for (let count = 0; count < 20; count++) sent.write(piece);
    const frames = await started;
    const text = frames
      .map(({ message }) => Buffer.from(message.event?.data?.stdout ?? "", "base64").toString())
      .join("");
    expect(text.trim()).toBe("1000000");
    sent.destroy();
    await expect.poll(async () => (await server.rpc(sandbox, "process.Process/List")).json.processes).toEqual([]);
  });

  it("a command goes on without its first client, and another finds its end", async () => {
    const body = envelope({
      process: { cmd: "/bin/sh", args: ["-c", "read line; echo got $line"] },
      tag: "left",
      stdin: true,
    });
    const first = request({
      host: "127.0.0.1",
      port: server.api.port,
      method: "POST",
      path: `/${START}`,
      headers: {
        "content-type": "application/connect+json",
        "e2b-sandbox-id": sandbox.sandboxID,
        "x-access-token": sandbox.envdAccessToken,
      },
    });
    first.on("error", () => {});
    await new Promise<void>((resolve) => {
      first.once("response", (response) => response.once("data", () => resolve()));
      first.end(body);
    });
    first.destroy();
    const joined = server.stream(sandbox, "process.Process/Connect", { process: { tag: "left" } });
    // Whoever joins sees what comes then.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await server.rpc(sandbox, "process.Process/SendInput", {
      process: { tag: "left" },
      input: { stdin: Buffer.from("it\n").toString("base64") },
    });
    const frames = await joined;
    expect(frames.map(({ message }) => message.event?.data?.stdout ?? "").join("")).toBe(
      Buffer.from("got it\n").toString("base64"),
    );
    expect(frames.at(-1)).toEqual({ flags: 2, message: {} });
  });

  it("a command whose time is up is ended", async () => {
    const process = { cmd: "/bin/sh", args: ["-c", "sleep 1000"] };
    const frames = await server.stream(sandbox, START, { process, stdin: false }, { "connect-timeout-ms": "300" });
    expect(frames.at(-1)?.message.error.code).toBe("deadline_exceeded");
    expect((await server.run(sandbox, "pgrep sleep || echo none")).stdout).toBe("none\n");
  });

  it("half a request does not hold anything", async () => {
    const socket = connect(server.api.port, "127.0.0.1");
    const head = `POST /${START} HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: ${sandbox.sandboxID}\r\nX-Access-Token: ${sandbox.envdAccessToken}\r\nContent-Type: application/connect+json\r\nContent-Length: 100\r\n\r\n`;
    socket.write(head);
    socket.write(Buffer.from([0, 0, 0, 0, 95]));
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    expect((await server.rpc(sandbox, "process.Process/List")).json.processes).toEqual([]);
  });
});

describe("files", () => {
  it("a form with hostile names and pieces writes what it says and nothing else", async () => {
    const form = (parts: readonly string[], boundary = "edge") => ({
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      body: Buffer.from(parts.join("\r\n")),
    });
    const file = (name: string, text: string) => [
      "--edge",
      `Content-Disposition: form-data; name="file"; filename="${name}"`,
      "",
      text,
    ];
    const written = await server.envd(
      sandbox,
      "POST",
      "/files",
      form([...file("one/deep.txt", "1"), ...file("../two", "\r\n--edg"), "--edge--", "tail"]),
    );
    expect(written.json).toEqual([
      { name: "deep.txt", type: "file", path: "/home/user/one/deep.txt" },
      { name: "two", type: "file", path: "/home/two" },
    ]);
    expect((await server.run(sandbox, "cat one/deep.txt; wc -c < /home/two")).stdout).toBe("17\n");
    for (const parts of [
      ["--edge"],
      ["--edge--"],
      [...file("x", "cut")],
      ["x".repeat(100_000)],
      ["--edge", `a: ${"x".repeat(100_000)}`],
    ]) {
      expect((await server.envd(sandbox, "POST", "/files", form(parts))).status, parts.join("|").slice(0, 40)).toBe(
        400,
      );
    }
    expect(
      (await server.envd(sandbox, "POST", "/files", { headers: { "content-type": "multipart/form-data" }, body: "x" }))
        .status,
    ).toBe(400);
    expect(
      (
        await server.envd(sandbox, "POST", "/files?path=a%00b", {
          headers: { "content-type": "application/octet-stream" },
          body: "x",
        })
      ).status,
    ).toBe(400);
  });

  it("are on record with the key that the sandbox belongs to", async () => {
    await server.envd(sandbox, "POST", "/files?path=audited", {
      headers: { "content-type": "application/octet-stream" },
      body: "x",
    });
    const words = ["audit", "list", "--json", "--sandbox", sandbox.sandboxID];
    await expect.poll(async () => (await runCli(server.api.actor, words)).stdout).toContain("/home/user/audited");
  });
});

describe("life", () => {
  it("a sandbox, its metadata and its tokens outlive the server; a time that is up ends or pauses", async () => {
    const paused = await server.create(key, { autoPause: true, timeout: 2, metadata: { kept: "yes" } });
    const killed = await server.create(key, { timeout: 2 });
    await server.run(paused, "echo here > file");
    expect(await server.stop()).toBe(0);
    server = await E2bServer.start(server.api.actor);
    const state = async ({ sandboxID }: RawSandbox) => {
      const { status, json } = await server.control(key, "GET", `/sandboxes/${sandboxID}`);
      return status === 200 ? json.state : status;
    };
    await expect.poll(() => state(killed)).toBe(404);
    await expect.poll(() => state(paused)).toBe("paused");
    expect((await server.envd(paused, "GET", "/health")).status).toBe(502);
    const [found] = (await server.control(key, "GET", "/v2/sandboxes?metadata=kept%3Dyes")).json;
    expect(found).toMatchObject({ sandboxID: paused.sandboxID, metadata: { kept: "yes" } });
    const again = await server.control(key, "POST", `/v2/sandboxes/${paused.sandboxID}/connect`, { timeout: 60 });
    expect([again.status, again.json.envdAccessToken]).toEqual([201, paused.envdAccessToken]);
    expect((await server.run(paused, "cat file")).stdout).toBe("here\n");
    await server.control(key, "DELETE", `/sandboxes/${paused.sandboxID}`);
  });

  it("what is not served says what to use instead", async () => {
    for (const [method, path] of [
      ["POST", "/v3/templates"],
      ["GET", "/volumes"],
      ["POST", "/secrets"],
    ] as const) {
      const refused = await server.control(key, method, path, method === "POST" ? {} : undefined);
      expect([refused.status, refused.json.message], path).toEqual([501, expect.stringMatching(/\(.+\)/)]);
    }
  });
});
