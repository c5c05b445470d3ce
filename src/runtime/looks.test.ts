import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Looks } from "./looks.js";

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "looks-")));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const at = (...parts: string[]): string => join(root, ...parts);

/** inotify watches of this process, as the kernel lists them. */
function watches(): number {
  const texts = readdirSync("/proc/self/fdinfo").map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
    } catch {
      // The descriptor that listed them.
      return "";
    }
  });
  return texts.join("").split("inotify wd:").length - 1;
}

/** Files that were made in the same tick of the kernel's clock as a look cannot be told apart by their times. */
const outlastTicks = () => new Promise((resolve) => setTimeout(resolve, 80));

async function watchedLooks(): Promise<Looks> {
  mkdirSync(at("tools/bin"), { recursive: true });
  mkdirSync(at("elsewhere"));
  writeFileSync(at("tools/version"), "1");
  writeFileSync(at("elsewhere/other"), "1");
  linkSync(at("tools/version"), at("elsewhere/version"));
  symlinkSync(at("tools"), at("link"));
  await outlastTicks();
  const looks = new Looks();
  expect(looks.text(at("tools/version"), 10)).toBe("1");
  expect(looks.names(at("tools/bin"))).toEqual([]);
  expect(looks.stats(at("tools/none"))).toBeNull();
  expect(looks.stats(at("deep/down/none"))).toBeNull();
  expect(looks.real(at("link"))).toBe(at("tools"));
  const before = watches();
  for (let count = 0; count < 20; count++) expect(looks.isCurrent()).toBe(true);
  expect(watches()).toBeGreaterThan(before);
  return looks;
}

describe("who asks again and again", () => {
  it.each<readonly [string, () => void]>([
    ["a file was written", () => writeFileSync(at("tools/version"), "2")],
    ["a file was written by another name", () => writeFileSync(at("elsewhere/version"), "2")],
    ["a file was replaced", () => renameSync(at("elsewhere/other"), at("tools/version"))],
    ["a file was removed", () => rmSync(at("tools/version"))],
    ["there is something new in a directory", () => writeFileSync(at("tools/bin/tool"), "")],
    ["what was missing is there", () => writeFileSync(at("tools/none"), "")],
    ["what was missing is there, far below", () => mkdirSync(at("deep/down/none"), { recursive: true })],
    ["a directory above was replaced", () => renameSync(at("tools"), at("other"))],
    [
      "a symlink leads elsewhere",
      () => {
        rmSync(at("link"));
        symlinkSync(at("elsewhere"), at("link"));
      },
    ],
  ])("is told that %s", async (_, change) => {
    const looks = await watchedLooks();
    change();
    await vi.waitFor(() => expect(looks.isCurrent()).toBe(false));
  });

  it("is told that nothing has changed where other files of the same directory did", async () => {
    const looks = await watchedLooks();
    const before = watches();
    writeFileSync(at("unrelated"), "");
    await outlastTicks();
    expect(watches()).toBe(before);
    expect(looks.isCurrent()).toBe(true);
    writeFileSync(at("tools/version"), "1");
    await vi.waitFor(() => expect(watches()).toBeLessThan(before));
  });

  it("is not watched for any longer where a directory is busy with other files", async () => {
    const looks = await watchedLooks();
    const before = watches();
    for (let count = 0; count < 600; count++) mkdirSync(at(`unrelated-${count}`));
    await vi.waitFor(() => expect(watches()).toBeLessThan(before));
    expect(looks.isCurrent()).toBe(true);
  });
});
