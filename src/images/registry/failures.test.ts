import { describe, expect, it } from "vitest";
import { isAgentKernelError } from "../../core/errors.js";
import { connectionFailure, isConnectionError, TransientFailure } from "./failures.js";

const withCode = (code: string): Error => Object.assign(new Error("x"), { code });

describe("a connection that fails", () => {
  it.each<[string, string, RegExp]>([
    ["ENOTFOUND", "registry_unreachable", /cannot be looked up/],
    ["EAI_AGAIN", "registry_unreachable", /cannot be looked up/],
    ["ECONNREFUSED", "registry_unreachable", /nothing listens/],
    ["EHOSTUNREACH", "registry_unreachable", /no route/],
    ["ENETUNREACH", "registry_unreachable", /no route/],
    ["CERT_HAS_EXPIRED", "registry_untrusted", /certificate of a\.example is not valid/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "registry_untrusted", /certificate/],
    ["EPROTO", "registry_untrusted", /no TLS connection/],
    ["HPE_INVALID_CONSTANT", "registry_error", /does not speak HTTP/],
  ])("with %s is told as %s, and not tried again", (code, expected, message) => {
    const failure = connectionFailure("a.example", withCode(code));
    expect(failure).toMatchObject({ code: expected, message: expect.stringMatching(message) });
    expect(isAgentKernelError(failure)).toBe(true);
  });

  it.each(["ECONNRESET", "EPIPE", "ETIMEDOUT", "ERR_STREAM_PREMATURE_CLOSE"])("with %s is tried again", (code) => {
    expect(connectionFailure("a.example", withCode(code))).toBeInstanceOf(TransientFailure);
  });

  it("on every address of a name is told by the first", () => {
    const error = new AggregateError([withCode("ECONNREFUSED"), withCode("ENETUNREACH")]);
    expect(connectionFailure("a.example", error)).toMatchObject({ message: expect.stringMatching(/nothing listens/) });
  });

  it("is told apart from a fault of our own", () => {
    expect(isConnectionError(withCode("ECONNRESET"))).toBe(true);
    expect(isConnectionError(new TypeError("x"))).toBe(false);
    expect(isConnectionError(new Error("x"))).toBe(false);
  });
});
