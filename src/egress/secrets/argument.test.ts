import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseSecretArgument } from "./argument.js";
import { createSandboxSecrets, secretEnvironment } from "./bound-secret.js";

describe("NAME:host[:header]", () => {
  it("is read into its canonical form", () => {
    expect(parseSecretArgument("API_KEY:API.Example.com.")).toEqual({
      name: "API_KEY",
      host: "api.example.com",
      header: "authorization",
    });
    expect(parseSecretArgument("_t:bücher.example:X-Api-Key")).toEqual({
      name: "_t",
      host: "xn--bcher-kva.example",
      header: "x-api-key",
    });
  });

  it.each([
    ["API_KEY", /names no host/],
    ["", /names no host/],
    [":api.example.com", /no name of a variable/],
    ["1KEY:api.example.com", /no name of a variable/],
    ["API-KEY:api.example.com", /no name of a variable/],
    ["KEY=hunter2hunter2:api.example.com", /it has a =/],
    ["KEY:", /no name: it is empty/],
    ["KEY:*.example.com", /wildcard/],
    ["KEY:10.0.0.1", /is an address/],
    ["KEY:0x7f000001", /is an address/],
    ["KEY:[::1]", /more than three parts/],
    ["KEY:api.example.com:443:x", /more than three parts/],
    ["KEY:a b.example", /no name/],
    ["KEY:hunter2hunter2", /no dot/],
    ["KEY:api.example.com:", /no header name/],
    ["KEY:api.example.com:x y", /no header name/],
    ["KEY:api.example.com:Host", /header host cannot carry/],
    ["KEY:api.example.com:content-length", /cannot carry/],
    ["KEY:api.example.com:Transfer-Encoding", /cannot carry/],
    ["KEY:api.example.com:connection", /cannot carry/],
  ])("%j is refused with its reason and an example, and never repeated", (argument, reason) => {
    const fault = {
      code: "invalid_argument",
      message: expect.stringMatching(reason),
      hint: expect.stringMatching(/./),
    };
    expect(() => parseSecretArgument(argument)).toThrow(expect.objectContaining(fault));
    expect(() => parseSecretArgument(argument)).not.toThrow(/hunter2/);
  });
});

describe("a sandbox's secrets", () => {
  const request = { name: "KEY", host: "api.example.com", header: "authorization", value: "hunter2hunter2" };

  it("are placeholders inside, new for each sandbox and the same for all hosts of one name", () => {
    const both = [request, { ...request, host: "uploads.example.com" }];
    const [one, two] = [createSandboxSecrets(both), createSandboxSecrets(both)];
    const { KEY = "" } = secretEnvironment(one);
    expect(KEY).toMatch(/^agentkernel-secret-[0-9a-f]{40}$/);
    expect(one.bound.map(({ placeholder }) => placeholder)).toEqual([KEY, KEY]);
    expect(secretEnvironment(two).KEY).not.toBe(KEY);
  });

  it.each([
    "",
    "short",
    "line\nbreak-in-it",
    "with\r\nX-Injected: header",
    " spaced-at-an-end ",
    "nön-ascii-value",
    "x".repeat(9_000),
  ])("of the value %.20j are refused, and the value is not shown", (value) => {
    const fault = { code: "invalid_argument", message: expect.stringMatching(/^the value of the secret KEY /) };
    expect(() => createSandboxSecrets([{ ...request, value }])).toThrow(expect.objectContaining(fault));
    if (value.length > 5) expect(() => createSandboxSecrets([{ ...request, value }])).not.toThrow(value);
  });

  it("with two values for one name are refused", () => {
    const other = { ...request, value: "another-value" };
    expect(() => createSandboxSecrets([request, other])).toThrow(/^the secret KEY is given with two values$/);
  });

  it("A6: show no value and no key in whatever prints or serialises them", () => {
    const secrets = createSandboxSecrets([request]);
    secrets.authority.contextFor(request.host);
    const shown = [
      JSON.stringify(secrets),
      inspect(secrets, { depth: 9, showHidden: true }),
      String(secrets.bound[0]?.value),
    ];
    for (const text of shown) expect(text).not.toMatch(/hunter2|PRIVATE/);
    expect(shown[1]).toContain("[secret KEY]");
  });
});
