import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { AgentKernelError } from "../core/errors.js";
import { version } from "../core/version.js";
import { dispatch as dispatchFor } from "./dispatch.js";
import { reportError as reportErrorTo } from "./errors.js";
import { ownInvocation } from "./invocation/own-process.js";
import { shownVerbs, verbs } from "./verbs.js";

const dispatch = (words: readonly string[]) => dispatchFor(words, ownInvocation());
const reportError = (error: unknown, how: { readonly json: boolean }) => reportErrorTo(ownInvocation(), error, how);

let printed: { out: string; err: string };
let spies: MockInstance[];

beforeEach(() => {
  printed = { out: "", err: "" };
  const into = (key: "out" | "err") => (text: string | Uint8Array, done?: unknown) => {
    printed[key] += String(text);
    if (typeof done === "function") done();
    return true;
  };
  spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(into("out")),
    vi.spyOn(process.stderr, "write").mockImplementation(into("err")),
  ];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  vi.unstubAllEnvs();
});

describe("help", () => {
  test("lists every verb, and no others", async () => {
    expect(await dispatch(["--help"])).toBe(0);
    const listed = [...printed.out.matchAll(/^ {2}([a-z][a-z -]*?) {2,}/gm)].map(([, name]) => name);
    expect(listed.toSorted()).toEqual(shownVerbs.map(({ name }) => name).toSorted());
    expect(printed.out.indexOf("Every day:\n  run ")).toBeGreaterThan(0);
  });

  test("is what a call without words gets", async () => {
    expect(await dispatch([])).toBe(0);
    const alone = printed.out;
    printed.out = "";
    await dispatch(["--help"]);
    expect(alone).toBe(printed.out);
    expect(printed.err).toBe("");
  });

  test.each(verbs.map(({ name }) => name))("%s has help with an example and all its options", async (name) => {
    expect(await dispatch([...name.split(" "), "--help"])).toBe(0);
    expect(printed.out).toContain(`Usage: agentkernel ${name}`);
    expect(printed.out).toMatch(/Examples?:\n {2}agentkernel /);
    for (const { long } of verbs.find((verb) => verb.name === name)?.options ?? []) {
      expect(printed.out).toContain(`--${long}`);
    }
    const viaOption = printed.out;
    printed.out = "";
    expect(await dispatch(["help", ...name.split(" ")])).toBe(0);
    expect(printed.out).toBe(viaOption);
  });
});

describe("help for a word that several verbs begin with", () => {
  test.each(["daemon", "keys", "images", "policy", "audit"])("%s lists them", async (first) => {
    for (const words of [
      [first, "--help"],
      [first, "-h"],
      ["help", first],
    ]) {
      printed.out = "";
      expect(await dispatch(words)).toBe(0);
      for (const { name, summary } of shownVerbs.filter((verb) => verb.name.startsWith(`${first} `))) {
        expect(printed.out).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
        expect(printed.out).toContain(summary);
      }
    }
  });
});

describe("AGENTKERNEL_DAEMON", () => {
  test.each(["nope", "0", "OFF"])("%s means nothing, and is refused", async (setting) => {
    vi.stubEnv("AGENTKERNEL_DAEMON", setting);
    expect(await dispatch(["version"])).toBe(125);
    expect(printed.err).toContain(`AGENTKERNEL_DAEMON: "${setting}" is neither on nor off\n  hint: `);
  });
});

describe("verbs that only print", () => {
  test("version", async () => {
    expect(await dispatch(["--version"])).toBe(0);
    expect(await dispatch(["version"])).toBe(0);
    expect(printed.out).toBe(`agentkernel ${version}\n`.repeat(2));
    printed.out = "";
    expect(await dispatch(["version", "--json"])).toBe(0);
    expect(JSON.parse(printed.out)).toMatchObject({ success: true, data: { version } });
  });

  test("policy explain names the flag that set a field", async () => {
    expect(await dispatch(["policy", "explain", "--memory", "64m"])).toBe(0);
    expect(printed.out).toMatch(/^resources\.memoryMiB +64 {2}\(--memory\)$/m);
    printed.out = "";
    expect(await dispatch(["policy", "explain", "--json", "--no-network"])).toBe(0);
    const { data } = JSON.parse(printed.out) as { data: unknown[] };
    expect(data).toContainEqual({ field: "net.egress", value: "off", origin: "--no-network", authority: ["flag"] });
  });
});

describe("errors", () => {
  test.each([[["rnu"]], [["run"]], [["run", "--bogus"]], [["policy", "explain", "--memory", "1"]]])(
    "%j ends with 125, one sentence and a hint on stderr, nothing on stdout",
    async (words) => {
      expect(await dispatch(words)).toBe(125);
      expect(printed.out).toBe("");
      expect(printed.err).toMatch(/^agentkernel: [^\n]+\n {2}hint: [^\n]+\n$/);
    },
  );

  test("are JSON on stdout where JSON was asked for", async () => {
    expect(await dispatch(["run", "--json", "--no-network", "--image", "alpine", "ls"])).toBe(125);
    expect(printed.err).toBe("");
    expect(JSON.parse(printed.out)).toEqual({
      success: false,
      error: { code: "image_unavailable", message: expect.any(String), hint: expect.any(String) },
    });
  });

  // THREATS P8
  test("cannot steer the terminal", async () => {
    await dispatch(["\u001b]0;owned\u0007"]);
    await dispatch(["run", "--profile", "\u001b[2J\u009b1m", "ls"]);
    await dispatch(["policy", "explain", "-v", "/nowhere\u001b[31m:/x"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect(printed.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(printed.err).toContain("\\x1b");
  });

  test("have the exit status of their code", async () => {
    expect(await reportError(new AgentKernelError("command_not_found", "no such command"), { json: false })).toBe(127);
    expect(printed.err).toBe("agentkernel: no such command\n");
  });

  test("that nobody foresaw say whose fault it is, with a stack only for those who ask", async () => {
    const fault = new TypeError("x is not a function", { cause: new Error("deep") });
    expect(await reportError(fault, { json: false })).toBe(125);
    expect(printed.err).toContain("TypeError: x is not a function (this is a fault of agentkernel)");
    expect(printed.err).not.toContain("dispatch.test.ts");
    vi.stubEnv("AGENTKERNEL_DEBUG", "1");
    await reportError(fault, { json: false });
    expect(printed.err).toContain("dispatch.test.ts");
    expect(printed.err).toContain("caused by: Error: deep");
  });
});
