import { describe, expect, it } from "vitest";
import { nothingAllowed } from "../codemode/calls/policy.js";
import { openCodeMode } from "../codemode/index.js";
import { argumentRules } from "./argument-rules.js";
import { tools as sandboxTools } from "./tools/index.js";

const code = openCodeMode({
  entries: [],
  policy: nothingAllowed,
  around: { cwd: "/", env: {} },
  modulesFolder: "/nonexistent",
});
const tools = [...sandboxTools, ...code.tools];
const argumentsOf = ({ description }: (typeof tools)[number]) =>
  Object.keys(description.inputSchema.properties as Readonly<Record<string, unknown>>);

describe("the rules of arguments", () => {
  it.each(tools.map((tool) => [tool.description.name, tool] as const))("cover %s", (_, tool) => {
    const rules: Readonly<Record<string, string>> = argumentRules;
    expect(argumentsOf(tool).filter((name) => rules[name] === undefined)).toEqual([]);
  });

  it("say what may be given, and nothing about what no tool and no body has", () => {
    // `user`, `workspace` and `module` are fields of the same bodies over HTTP.
    const elsewhere = ["user", "workspace", "module", "mounts", "secrets", "publish"];
    const known = new Set([...tools.flatMap(argumentsOf), ...elsewhere]);
    expect(Object.keys(argumentRules).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("annotations", () => {
  const annotated = (hint: string) =>
    tools
      .filter(({ description }) => description.annotations[hint] === true)
      .map(({ description }) => description.name);

  it("say of every tool that can write the user's files, or end what runs, that it may destroy", () => {
    expect(annotated("destructiveHint").sort()).toEqual([
      "code_run",
      "sandbox_background",
      "sandbox_create",
      "sandbox_exec",
      "sandbox_file_write",
      "sandbox_kill",
      "sandbox_remove",
      "sandbox_run",
      "sandbox_session_create",
      "sandbox_stop",
    ]);
  });

  it("call no tool read-only that may destroy", () => {
    const destructive = new Set(annotated("destructiveHint"));
    expect(annotated("readOnlyHint").filter((name) => destructive.has(name))).toEqual([]);
  });
});
