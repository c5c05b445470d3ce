import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { filesUnder } from "./module-graph.js";

const codes = Object.keys(JSON.parse(readFileSync("spec/errors.json", "utf8")));
const tables = [
  "sdk/typescript/src/error-codes.ts",
  "sdk/python/agentkernel/_error_codes.py",
  "sdk/golang/error_codes.go",
  "sdk/rust/src/error_code.rs",
  "sdk/swift/Sources/AgentKernel/ErrorCode.swift",
];

describe("the SDKs", () => {
  it("have the codes and records that spec/ has (npm run sdk:sources writes them)", () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/write-sdk-sources.mjs", "--check"]);
    expect(String(stderr)).toBe("");
    expect(status).toBe(0);
  });

  it.each(tables)("%s knows every code of the one table", (path) => {
    const text = readFileSync(path, "utf8");
    expect(codes.filter((code) => !new RegExp(`\\b${code}\\b`).test(text))).toEqual([]);
  });
});

describe("the SDK for Swift", () => {
  const sources = filesUnder("sdk/swift/Sources/AgentKernel", ".swift");

  it.each(sources)("%s says what each public name is", (path) => {
    const lines = readFileSync(path, "utf8").split("\n");
    const bare = lines.filter((line, index) => /^\s*public /.test(line) && !/^\s*\/\/\//.test(lines[index - 1] ?? ""));
    expect(bare).toEqual([]);
  });

  it("is the same package from the root of the repository", () => {
    const [root, own] = ["Package.swift", "sdk/swift/Package.swift"].map((path) => readFileSync(path, "utf8"));
    for (const part of [
      /^\/\/ swift-tools-version:.*$/m,
      /name: "AgentKernel",/,
      /platforms: .*$/m,
      /products: .*$/m,
    ]) {
      expect(root?.match(part)?.[0]).toBe(own?.match(part)?.[0]);
    }
  });
});
