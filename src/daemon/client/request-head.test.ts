import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { readClientHead } from "./request-head.js";

const head =
  "GET /client HTTP/1.1\r\nHost: agentkernel\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\nAgentkernel-Build: 0123\r\n\r\n";

describe("the head of a client's request", () => {
  it("names the build, and leaves what follows", () => {
    const read = readClientHead(Buffer.from(`${head}frames`));
    expect(read?.build).toBe("0123");
    expect(String(read?.rest)).toBe("frames");
  });

  it.each([
    ["a request of another kind", "GET /daemon HTTP/1.1\r\nHost: agentkernel\r\n\r\n"],
    ["one in pieces", head.slice(0, -1)],
    ["one with headers of its own", head.replace("Host:", "X: y\r\nHost:")],
    ["one whose build never ends", `${head.slice(0, -8)}${"0".repeat(1000)}`],
    ["nothing", ""],
  ])("is not found in %s", (_, text) => {
    expect(readClientHead(Buffer.from(text))).toBeNull();
  });
});
