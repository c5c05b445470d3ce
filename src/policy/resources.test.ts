import { describe, expect, test } from "vitest";
import { isAgentKernelError } from "../core/errors.js";
import {
  parseCount,
  parseDurationMs,
  parseLifeMs,
  parseSetting,
  parseSizeMiB,
  parseTypedDurationMs,
  ranges,
} from "./resources.js";

const memory = (text: string) => parseSizeMiB("--memory", text, ranges["resources.memoryMiB"]);
const vcpus = (text: string) => parseSetting("--vcpus", text, "resources.vcpus");
const pids = (text: string) => parseCount("--pids", text, ranges["resources.pids"]);
const life = (text: string) => parseLifeMs("--ttl", text);
const timeout = (text: string) => parseDurationMs("--timeout", text);
const typed = (text: string) => parseTypedDurationMs("--timeout", text);

describe("values are read", () => {
  test.each([
    [memory, "512m", 512],
    [memory, "16m", 16],
    [memory, "1g", 1024],
    [memory, "1.5g", 1536],
    [memory, "1G", 1024],
    [memory, "512MiB", 512],
    [memory, "1t", 1_048_576],
    [memory, "16.5m", 17],
    [vcpus, "0.1", 0.1],
    [vcpus, "2", 2],
    [vcpus, "256", 256],
    [pids, "1", 1],
    [pids, "32768", 32_768],
    [timeout, "30s", 30_000],
    [timeout, "1500ms", 1500],
    [timeout, "10m", 600_000],
    [timeout, "1h", 3_600_000],
    [timeout, "0.5s", 500],
    [timeout, "1h30m", 5_400_000],
    [timeout, "1m2s3ms", 62_003],
    [typed, "5", 5000],
    [typed, "0.5", 500],
    [typed, "5m", 300_000],
    [life, "1d12h", 129_600_000],
    [life, "90m", 5_400_000],
    [life, "30d", 30 * 86_400_000],
    [life, "1000h", 3_600_000_000],
    [life, "365d", 365 * 86_400_000],
  ])("%o %s", (parse, text, expected) => {
    expect(parse(text)).toBe(expected);
  });
});

describe("everything else is refused with the field, a reason and an example", () => {
  test.each([
    [
      memory,
      "--memory",
      ["", "512", "m", "15m", "15.9m", "1.1t", "-1g", "1e3m", "1 g", "0x10m", "NaN", "1g\n", "9".repeat(400)],
    ],
    [vcpus, "--vcpus", ["", "0", "0.09", "256.1", "-1", "1e2", "two", "Infinity", "1,5"]],
    [pids, "--pids", ["", "0", "32769", "1.5", "-1", "+1", "0x1"]],
    [
      timeout,
      "--timeout",
      ["", "0s", "0ms", "0.0001s", "-1s", "30", "1d", "s", "577h", "30S", "30m1h", "1h1h", "576h1ms"],
    ],
    [typed, "--timeout", ["", "0", "-1", "5 ", "1e2", "99999999"]],
    [life, "--ttl", ["", "0d", "30", "4000d", "1w", "2h1d"]],
  ] as const)("%o %s", (parse, field, texts) => {
    for (const text of texts) {
      let caught: unknown;
      try {
        parse(text);
      } catch (error) {
        caught = error;
      }
      expect(isAgentKernelError(caught), text).toBe(true);
      expect(caught).toMatchObject({ code: "invalid_argument", details: { field } });
      expect(String(caught)).toContain(`${field}: "${text}" is not`);
      expect(isAgentKernelError(caught) ? caught.hint : "").toContain("for example");
    }
  });
});
