import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { greet, protocolVersions, sandboxInstructions } from "./greeting.js";
import { connectedPair } from "./testing/connected.js";

const initialize = (protocolVersion: string) => ({
  jsonrpc: "2.0",
  id: 7,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

describe("the answer to initialize", () => {
  it("knows the protocol versions of the SDK", () => {
    expect([...protocolVersions]).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
    expect(protocolVersions[0]).toBe(LATEST_PROTOCOL_VERSION);
  });

  it.each([...SUPPORTED_PROTOCOL_VERSIONS, "1999-01-01"])("is what the SDK's server says to %s", async (version) => {
    const { ask, close } = await connectedPair();
    expect(greet(initialize(version), sandboxInstructions)).toEqual(await ask(initialize(version)));
    await close();
  });

  it.each([
    ["another method", { ...initialize("2025-06-18"), method: "ping" }],
    ["no id", { ...initialize("2025-06-18"), id: undefined }],
    ["an id that is no id", { ...initialize("2025-06-18"), id: {} }],
    ["no protocol version", { ...initialize("2025-06-18"), params: {} }],
    ["no client", { ...initialize("x"), params: { protocolVersion: "x", capabilities: {} } }],
    ["a text", "initialize"],
    ["nothing", null],
  ])("is left to the SDK's server for %s", (_, message) => {
    expect(greet(message, "")).toBeNull();
  });
});
