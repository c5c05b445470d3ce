import { describe, expect, it } from "vitest";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { redactor } from "../../core/redact.js";
import { notFound } from "../../runtime/sandboxes/refusals.js";
import { operations } from "../operations/index.js";
import { errorAnswer } from "./error-answer.js";
import { readQuery } from "./query.js";
import { matchRoute } from "./router.js";

describe("a path", () => {
  it.each([
    ["POST", "/run", "run"],
    ["POST", "/run/stream", "runStream"],
    ["GET", "/sandboxes/a", "getSandbox"],
    ["POST", "/sandboxes/a/exec/stream", "execStream"],
    ["GET", "/health?x=1", "health"],
    ["GET", "/", "docs"],
  ])("%s %s is %s", (method, target, name) => {
    expect(matchRoute(method, target).name).toBe(name);
  });

  it.each([
    ["/sandboxes/a/files/x/y", "/x/y"],
    ["/sandboxes/a/files/", "/"],
    ["/sandboxes/a/files", "/"],
    ["/sandboxes/a/files/%2Fetc%2Fhosts", "/etc/hosts"],
    ["/sandboxes/a/files//x//y/", "/x/y"],
    ["/sandboxes/a/files/a%20b/%E2%98%83", "/a b/☃"],
    ["/sandboxes/a/files/-rf", "/-rf"],
  ])("%s names the file %s", (target, path) => {
    expect(matchRoute("GET", target).params).toMatchObject({ name: "a", path });
  });

  it.each([
    ["GET", "/nowhere", "not_found"],
    ["GET", "/run", "method_not_allowed"],
    ["POST", "/", "method_not_allowed"],
    ["GET", "/sandboxes/A", "invalid_argument"],
    ["GET", "/sandboxes/a/files/../b", "invalid_argument"],
    ["GET", "http://elsewhere/run", "invalid_argument"],
    ["GET", "*", "invalid_argument"],
    ["GET", "/sandboxes/%zz", "invalid_argument"],
    ["GET", "//run", "not_found"],
    ["GET", "/run/", "not_found"],
  ])("%s %s is %s", (method, target, code) => {
    try {
      matchRoute(method, target);
      expect.unreachable();
    } catch (error) {
      expect(isAgentKernelError(error) ? error.code : error).toBe(code);
    }
  });
});

describe("a query", () => {
  const { query } = operations.readFile;

  it("has the types that its parameters have", () => {
    expect(readQuery("/x?offset=5&format=raw", query)).toEqual({ offset: 5, format: "raw" });
    expect(readQuery("/x", query)).toEqual({});
  });

  it.each(["offset=x", "offset=-1", "offset=1.5", "format=zip", "nothing=1", "offset=1&offset=2"])(
    "%s is refused",
    (text) => {
      expect(() => readQuery(`/x?${text}`, query)).toThrow();
    },
  );
});

describe("a hint", () => {
  const hintOf = (error: AgentKernelError) => errorAnswer(error, redactor()).error.hint;
  it("spells settings as a body does, and as options on the command line", () => {
    const error = new AgentKernelError("sandbox_died", "ended", {
      hint: ({ name, with: stated }) => `raise ${name("resources.memoryMiB")}, or use ${stated("net.egress", "off")}`,
    });
    expect(error.hint).toBe("raise --memory, or use --network off");
    expect(hintOf(error)).toBe("raise resources.memory_mb, or use network off");
  });

  it("names operations of this interface", () => {
    expect(hintOf(notFound("box"))).toBe("GET /sandboxes shows those that there are");
    expect(notFound("box").hint).toBe("agentkernel list shows those that there are");
  });

  it("names the option of what no body can set", () => {
    const error = new AgentKernelError("invalid_argument", ({ name }) => `${name("fs.show")} is taken`);
    expect(errorAnswer(error, redactor()).error.message).toBe("--show is taken");
  });

  it("leaves words alone that look like options", () => {
    expect(hintOf(new AgentKernelError("internal", "x", { hint: "the file --memory" }))).toBe("the file --memory");
  });
});
