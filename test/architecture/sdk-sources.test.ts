import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

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
