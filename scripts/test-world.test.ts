import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const NAME = `world-test-${process.pid}`;
/** What a run of the tests is to its worlds: it holds the keeper's input, and nothing else. */
const holder = `
  const { spawn } = require("node:child_process");
  const [folder, ...world] = process.argv.slice(1);
  const stdio = ["pipe", "inherit", "inherit"];
  spawn("sh", ["scripts/test-keeper.sh", "${NAME}-*", folder], { stdio, detached: true });
  spawn("sh", ["scripts/test-world.sh", "${NAME}-7", folder + "/7", ...world], { stdio, detached: true });
`;

function groups(): string[] {
  const { stdout } = spawnSync("find", ["/sys/fs/cgroup", "-type", "d", "-name", `test-lane-${NAME}-*`], {
    encoding: "utf8",
  });
  return stdout.split("\n").filter((line) => line !== "");
}

/** Processes of any namespace whose words hold this. */
function running(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(mark);
    } catch {
      return false;
    }
  });
}

const offered = () => {
  const folder = mkdtempSync(join(tmpdir(), "agentkernel-world-"));
  const probe = spawnSync("sh", ["scripts/test-world.sh", `${NAME}-8`, folder, "own", "true"], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  if (probe.status !== 0) console.warn(`SKIPPED: this machine has no worlds: ${probe.stderr}`);
  return probe.status === 0;
};

describe.runIf(offered())("a world of the tests", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "agentkernel-world-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function run(network: string, script: string) {
    const own = mkdtempSync(join(folder, "world-"));
    const words = ["scripts/test-world.sh", `${NAME}-7`, own, network, "sh", "-c", script];
    const { status, stdout, stderr } = spawnSync("sh", words, { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout.trim();
  }

  it("has processes, temporary files, messages and loopback of its own", () => {
    const seen = run("own", "ls -A /tmp; ls -d /proc/[0-9]* | wc -l; ls /sys/class/net; ls /proc/sys/net/ipv4/conf");
    expect(seen.split("\n")[0]).toMatch(/^\d$/);
    expect(seen.split("\n").slice(-3)).toEqual(["all", "default", "lo"]);
    expect(run("own", "echo 1 >/tmp/here; readlink /proc/self/ns/ipc")).not.toBe(
      spawnSync("readlink", ["/proc/self/ns/ipc"], { encoding: "utf8" }).stdout.trim(),
    );
    expect(existsSync("/tmp/here")).toBe(false);
  });

  it("shows the home folder as it is, with its rights, and keeps what is written there", () => {
    const home = process.env.HOME ?? "";
    const seen = run("own", `touch "$HOME/${NAME}"; stat -c %a "$HOME"; ls -A "$HOME"`).split("\n");
    expect(seen[0]).toBe((statSync(home).mode & 0o777).toString(8));
    expect(seen).toEqual(expect.arrayContaining([NAME, ...readdirSync(home)]));
    expect(existsSync(join(home, NAME))).toBe(false);
  });

  it("has the machine's network and processes where it is to fetch something", () => {
    const own = spawnSync("readlink", ["/proc/self/ns/net"], { encoding: "utf8" }).stdout.trim();
    expect(run("machine", `readlink /proc/self/ns/net; ls -d /proc/${process.pid}`)).toBe(
      `${own}\n/proc/${process.pid}`,
    );
    expect(run("own", "readlink /proc/self/ns/net")).not.toBe(own);
  });

  it.each(["own", "machine"])(
    "with %s network ends with all that is in it when who started it is killed",
    async (network) => {
      const mark = `${7_000_000 + process.pid}`;
      spawnSync("mkdir", [join(folder, "7")]);
      const script = `mkdir /tmp/m; mount -t tmpfs none /tmp/m; setsid sleep ${mark} & (trap '' TERM INT HUP; sleep ${mark})`;
      const child = spawn(process.execPath, ["-e", holder, folder, network, "sh", "-c", script], { stdio: "ignore" });
      await expect.poll(() => running(mark).length).toBeGreaterThanOrEqual(2);
      const frozen = groups().find((group) => existsSync(join(group, "freezer.state")));
      if (frozen !== undefined) spawnSync("sh", ["-c", 'echo FROZEN >"$1/freezer.state"', "sh", frozen]);
      child.kill("SIGKILL");
      await once(child, "exit");
      await expect.poll(() => [running(mark), groups(), existsSync(folder)]).toEqual([[], [], false]);
    },
  );
});
