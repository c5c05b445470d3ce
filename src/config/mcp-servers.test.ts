import { describe, expect, test } from "vitest";
import { mcpServerHosts } from "./mcp-servers.js";

const hosts = (value: unknown) => mcpServerHosts(JSON.stringify(value));

describe("the hosts of MCP servers", () => {
  test("are those of their addresses, each with its port", () => {
    const mcpServers = {
      a: { type: "http", url: "https://MCP.example.com/sse" },
      b: { url: "http://other.example.org:8080/x" },
      twice: { url: "https://mcp.example.com/other" },
      gemini: { httpUrl: "https://g.example.com" },
      local: { command: "npx", args: ["server"] },
    };
    expect(hosts({ mcpServers }).rules).toEqual([
      { domain: "mcp.example.com", ports: [443] },
      { domain: "other.example.org", ports: [8080] },
      { domain: "g.example.com", ports: [443] },
    ]);
  });

  test("are found where opencode keeps them", () => {
    expect(hosts({ mcp: { a: { type: "remote", url: "https://o.example.com" } } }).rules).toHaveLength(1);
  });

  test.each([
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    "http://[::1]/",
    "http://0x7f000001/",
    "http://169.254.169.254/",
    "file:///etc/passwd",
    "ftp://files.example.com",
    "no address",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what people write into such a file
    "https://${HOST}/",
    "https://*.example.com/",
  ])("never %s", (url) => {
    expect(hosts({ mcpServers: { a: { url } } })).toEqual({ rules: [], skipped: [url] });
  });

  test.each([null, 5, [], {}, { mcpServers: 5 }, { mcpServers: { a: null } }, { mcpServers: { a: { url: 5 } } }])(
    "are none in %j",
    (value) => expect(hosts(value).rules).toEqual([]),
  );

  test("are not guessed from a text that is no JSON", () => {
    expect(() => mcpServerHosts("{")).toThrow(SyntaxError);
  });
});
