/** A1 to A3 through `/mcp`: what somebody with a key could do by the protocol itself that the API does not let them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer, type Sending } from "../../support/api-server.js";
import { leaksSince, type Traces, traces } from "../../support/leaks.js";
import { runCli } from "../../support/run-cli.js";

interface Answered {
  readonly id?: number | string;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Speaks the protocol as no library would. */
class RawSession {
  readonly #server: ApiServer;
  readonly #key: string;
  #session = "";

  constructor(server: ApiServer, key: string) {
    this.#server = server;
    this.#key = key;
  }

  async begin(capabilities: object = {}): Promise<void> {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities, clientInfo };
    const { headers } = await this.post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    this.#session = String(headers["mcp-session-id"]);
    await this.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  get sending(): Pick<Sending, "headers" | "key"> {
    const named = this.#session === "" ? {} : { "mcp-session-id": this.#session };
    return { key: this.#key, headers: { accept: "application/json, text/event-stream", ...named } };
  }

  async post(body: unknown) {
    const { status, headers, text } = await this.#server.ask("POST", "/mcp", { ...this.sending, body });
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Answered);
    const messages = text.startsWith("{") ? [JSON.parse(text) as Answered] : events;
    return { status, headers, text, messages };
  }

  async call(id: number, name: string, args: object) {
    return await this.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
  }

  async end(): Promise<void> {
    await this.#server.ask("DELETE", "/mcp", this.sending);
  }
}

describe.each(actors)("as $name", (actor) => {
  let server: ApiServer;
  let key: string;
  let before: Traces;
  beforeAll(async () => {
    server = await ApiServer.start(actor);
    const words = ["--scope", "run", "--scope", "sandboxes", "--allow-domain", "allowed.example"];
    key = await server.key("agent", words);
    before = traces();
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });
  const begun = async (bearer = key, capabilities = {}) => {
    const session = new RawSession(server, bearer);
    await session.begin(capabilities);
    return session;
  };
  const list = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "sandbox_list" } });

  describe("A2: messages that are more than they seem", () => {
    it("a batch is refused whole, whatever is in it", async () => {
      const session = await begun();
      const { status, messages } = await session.post(Array.from({ length: 100 }, (_, id) => list(id)));
      expect(status).toBe(400);
      expect(messages).toMatchObject([{ id: null, error: { code: -32600 } }]);
      await session.end();
    });

    it("__proto__ in arguments is named, not left out", async () => {
      const session = await begun();
      const args = '{"command":["true"],"__proto__":{"profile":"permissive"}}';
      const { messages } = await session.post(
        `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"sandbox_run","arguments":${args}}}`,
      );
      expect(messages).toMatchObject([{ id: 5, error: { code: -32602, message: expect.stringMatching(/__proto__/) } }]);
      await session.end();
    });

    it("a request by an id that is at work is refused, and all that runs ends with the session", async () => {
      const session = await begun();
      await session.call(1, "sandbox_session_create", { name: "held", network: false });
      const script = "touch /tmp/begun; sleep 300";
      const args = { name: "held", command: ["sh", "-c", script], timeout_ms: 300_000 };
      const first = session.call(7, "sandbox_exec", args).catch(() => null);
      let isBegun = false;
      for (let id = 10; !isBegun; id++) {
        const { messages } = await session.call(id, "sandbox_exec", { name: "held", command: ["ls", "/tmp/begun"] });
        isBegun = messages.some(({ result }) => result?.structuredContent?.exit_code === 0);
      }
      const { status, messages } = await session.call(7, "sandbox_exec", args);
      expect(status).toBe(400);
      expect(messages).toMatchObject([{ id: 7, error: { code: -32600, message: expect.stringMatching(/at work/) } }]);
      await session.end();
      await first;
      expect(await leaksSince(before)).toEqual([]);
    });

    it("a file comes in parts, each of them once", async () => {
      const session = await begun();
      await session.call(1, "sandbox_session_create", { name: "files", network: false });
      const command = ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' a > /tmp/a"];
      await session.call(2, "sandbox_exec", { name: "files", command });
      const read = (id: number, more: object) =>
        session.call(id, "sandbox_file_read", { name: "files", path: "/tmp/a", ...more });
      const most = 1 << 20;
      expect((await read(3, { limit: most + 1 })).text).toContain("limit is");
      const { messages, text } = await read(4, { limit: most });
      expect(text.length).toBeLessThan(1.1 * most);
      const [answer] = messages.filter(({ id }) => id === 4);
      expect(answer?.result.structuredContent).toMatchObject({ next_offset: most, size_bytes: 3_000_000 });
      expect(answer?.result.structuredContent.content).toHaveLength(most);
      expect(answer?.result.content[0].text).toMatch(/bytes are in the structured content/);
      const uri = "agentkernel://sandboxes/files/files/tmp/a";
      const whole = await session.post({ jsonrpc: "2.0", id: 5, method: "resources/read", params: { uri } });
      expect(whole.messages).toMatchObject([{ error: { message: expect.stringMatching(/larger than 1048576/) } }]);
      await session.end();
    });

    it("each call counts as a request", async () => {
      const slow = await server.key("slow", ["--scope", "read", "--rate", "10"]);
      const session = await begun(slow);
      const answers: number[] = [];
      for (let id = 1; id <= 14; id++) answers.push((await session.post(list(id))).status);
      expect(answers).toContain(429);
    });
  });

  describe("A3: more than a key may", () => {
    it("a key is never asked whether it may reach what no rule allows", async () => {
      const session = await begun(key, { elicitation: {} });
      const command = ["sh", "-c", "curl -s -m 5 http://asked.example.com/"];
      const args = { command, network: { enabled: true, allowed_domains: [] } };
      const { messages } = await session.call(1, "sandbox_run", args);
      expect(messages.filter(({ method }) => method === "elicitation/create")).toEqual([]);
      const [answer] = messages.filter(({ id }) => id === 1);
      expect(answer?.result.structuredContent.stdout).toMatch(/no rule allows it/);
      await session.end();
    });

    it("a session of an admin key has its own sandboxes, and none that the user made elsewhere", async () => {
      const admin = await server.key("everything", ["--scope", "admin"]);
      const body = { name: "users-own", network: false, start: false };
      expect((await server.ask("POST", "/sandboxes", { body })).status).toBe(201);
      const session = await begun(admin);
      const listed = async (id: number) => {
        const { messages } = await session.call(id, "sandbox_list", {});
        return messages.at(-1)?.result.structuredContent.sandboxes.map(({ name }: { name: string }) => name);
      };
      expect(await listed(1)).toEqual([]);
      const { text } = await session.call(2, "sandbox_exec", { name: "users-own", command: ["true"] });
      expect(text).toContain("there is no sandbox users-own");
      await session.call(3, "sandbox_create", { name: "sessions-own", network: false });
      expect(await listed(4)).toEqual(["sessions-own"]);
      await session.call(5, "sandbox_remove", { name: "sessions-own" });
      await session.end();
      expect((await server.ask("DELETE", "/sandboxes/users-own")).status).toBe(200);
    });

    it("a key that only reads does not start what is stopped", async () => {
      const reader = await server.key("reader", ["--scope", "read", "--sandbox", "idle"]);
      const owner = await begun();
      await owner.call(1, "sandbox_create", { name: "idle", network: false });
      await owner.call(2, "sandbox_stop", { name: "idle" });
      const session = await begun(reader);
      const read = await session.call(1, "sandbox_file_read", { name: "idle", path: "/etc/hostname" });
      expect(read.messages.at(-1)?.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^conflict: /) }],
      });
      const listed = await session.call(2, "sandbox_list", {});
      expect(listed.messages.at(-1)?.result.structuredContent.sandboxes).toMatchObject([
        { name: "idle", state: "stopped" },
      ]);
      const again = await owner.call(3, "sandbox_file_read", { name: "idle", path: "/etc/passwd" });
      expect(again.messages.at(-1)?.result.isError ?? false, again.text).toBe(false);
      await owner.call(4, "sandbox_remove", { name: "idle" });
      await owner.end();
      await session.end();
    });

    it("a key that is revoked has nothing running any more, by whichever id", async () => {
      const gone = await server.key("gone", ["--scope", "run"]);
      const since = traces();
      const session = await begun(gone);
      const running = session.call(7, "sandbox_run", {
        command: ["sleep", "300"],
        network: false,
        timeout_ms: 300_000,
      });
      const ended = running.catch(() => null);
      await runCli(server.actor, ["keys", "revoke", "gone"]);
      await ended;
      expect(await leaksSince(since)).toEqual([]);
    });
  });
});
