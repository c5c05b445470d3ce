/** Which root filesystem with Debian's Swift is used, and when one is made. Debian's archive is played by a script. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "swift-toolchain-"));
  program("id", "echo 0");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** `--simulate` says which versions there are; without it the last word is the folder to fill. */
function archive(version: string | null, made = "true"): void {
  const versions = version === null ? "exit 1" : `echo "Inst swiftlang (${version} Debian)"; exit 0`;
  program(
    "mmdebstrap",
    `case "$*" in *--simulate*) ${versions} ;; esac
for word in "$@"; do last=$word; done
echo made >>${join(folder, "made.log")}
mkdir -p "$last/usr" && ${made}`,
  );
}

function ask(): { readonly status: number | null; readonly root: string; readonly stderr: string } {
  const env = { PATH: `${folder}:${process.env.PATH}`, XDG_CACHE_HOME: folder, HOME: folder };
  const { status, stdout, stderr } = spawnSync("sh", ["scripts/swift-toolchain.sh"], { env, encoding: "utf8" });
  return { status, root: stdout.trim(), stderr };
}

const cache = () => join(folder, "agentkernel-test");
const roots = () => readdirSync(cache()).filter((name) => /^swift-/.test(name));
const timesMade = () => readFileSync(join(folder, "made.log"), "utf8").split("\n").length - 1;
/** As if the last answer were of long ago. */
const forget = () => rmSync(join(cache(), "swift.checked"));

describe("the toolchain for Swift", () => {
  it("is made once for the versions of its packages", () => {
    archive("6.0.3-2");
    const { status, root } = ask();
    expect(status).toBe(0);
    expect(existsSync(join(root, "usr"))).toBe(true);
    forget();
    expect(ask().root).toBe(root);
    expect(timesMade()).toBe(1);
  });

  it("is asked for no oftener than once an hour", () => {
    archive("6.0.3-2");
    const { root } = ask();
    archive(null);
    expect(ask()).toMatchObject({ status: 0, root, stderr: "" });
  });

  it("is made again for other versions, and takes the place of the one before", () => {
    archive("6.0.3-2");
    const before = ask().root;
    forget();
    archive("6.0.3-3");
    const { root } = ask();
    expect(root).not.toBe(before);
    expect(roots()).toHaveLength(1);
  });

  it("is the one that was made before where Debian's archive does not answer", () => {
    archive("6.0.3-2");
    const { root } = ask();
    forget();
    archive(null);
    expect(ask()).toMatchObject({ status: 0, root });
  });

  it("is refused with a reason where nothing was made before either", () => {
    archive(null);
    expect(ask()).toMatchObject({ status: 1, root: "", stderr: expect.stringMatching(/did not answer[\s\S]*next:/) });
  });

  it("leaves nothing half made", () => {
    archive("6.0.3-2", "echo no room >&2; exit 1");
    expect(ask()).toMatchObject({
      status: 1,
      root: "",
      stderr: expect.stringMatching(/no room[\s\S]*could not be made/),
    });
    expect(roots()).toEqual([]);
  });

  it("is not tried by ordinary users, with a status of its own", () => {
    archive("6.0.3-2");
    program("id", "echo 1000");
    expect(ask()).toMatchObject({ status: 3, stderr: expect.stringMatching(/only root/) });
  });
});
