import { readdirSync, statfsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { runIn } from "../../support/run-cli.js";
import { type Attempt, attackInside, attackOutside } from "../support/fs-attack.js";
import { runToPause } from "../support/fs-paused-run.js";

const MIB = 1 << 20;
/** The attack asks for more than every limit that the tests set. */
const ASKED_MIB = 160;
const ASKED_FILES = 20_000;
const limits = ["--disk", "64m", "--memory", "1g"];

/** Writes as much as it is let into each folder and says how much that was, then gives it back. */
const fill = `
asked, files = int(sys.argv[1]), int(sys.argv[2])
def bytes_into(place):
    written, end = 0, "all of it"
    block = b"x" * (1 << 20)
    try:
        with open(place + "/filler", "wb", buffering=0) as file:
            for _ in range(asked):
                written += file.write(block)
    except OSError as e:
        end = errno.errorcode[e.errno]
    os.unlink(place + "/filler")
    return f"{end} {written}"
def files_into(place):
    made, end = 0, "all of it"
    os.mkdir(place + "/many")
    try:
        for made in range(files):
            os.close(os.open(f"{place}/many/{made}", os.O_CREAT))
        made += 1
    except OSError as e:
        end = errno.errorcode[e.errno]
    for name in os.listdir(place + "/many"):
        os.unlink(f"{place}/many/{name}")
    return f"{end} {made}"
for place in sys.argv[3:]:
    attempt(place + " bytes", lambda: bytes_into(place))
    attempt(place + " files", lambda: files_into(place))
`;

function outcome(attempt: Attempt | undefined): { readonly end: string; readonly count: number } {
  const [, end = "", count = ""] = /^(.*) (\d+)$/.exec(attempt?.ok ?? "") ?? [];
  return { end, count: Number(count) };
}

const freeMiB = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return (bavail * bsize) / MIB;
};

describe("F7 a full disk is the sandbox's own affair", () => {
  describe.each(actors)("as $name", (actor) => {
    it("nothing stops the attack where there is no sandbox", async () => {
      const cwd = actor.folder();
      const attack = { source: fill, args: [String(ASKED_MIB), String(ASKED_FILES), "."], cwd };
      const attempts = await attackOutside(actor, attack);
      expect(outcome(attempts[". bytes"])).toEqual({ end: "all of it", count: ASKED_MIB * MIB });
      expect(outcome(attempts[". files"])).toEqual({ end: "all of it", count: ASKED_FILES });
    });

    it.each(["copy", "sync", "none"])("bytes and inodes end inside, with the workspace as %s", async (form) => {
      const cwd = actor.folder();
      const places = ["/workspace", "/", "/home/sandbox", "/var/tmp"];
      const args = [String(ASKED_MIB), String(ASKED_FILES), ...places];
      const flags = [...limits, "--workspace", form];
      const takenMiB = async () => {
        const before = freeMiB(cwd);
        const attempts = await attackInside(actor, { source: fill, args, cwd, flags });
        const taken = before - freeMiB(cwd);
        for (const place of places) {
          const bytes = outcome(attempts[`${place} bytes`]);
          const files = outcome(attempts[`${place} files`]);
          expect(bytes.end).toBe("ENOSPC");
          expect(bytes.count).toBeLessThanOrEqual(64 * MIB);
          expect(files.end).toBe("ENOSPC");
          expect(files.count).toBeLessThan(ASKED_FILES);
        }
        expect(readdirSync(cwd)).not.toContain("filler");
        return taken;
      };
      // The attack asked for several times this much. Others use this disk too, but not always so much at once.
      let taken = await takenMiB();
      for (let more = 0; more < 4 && taken >= ASKED_MIB * 2; more += 1) taken = await takenMiB();
      expect(taken).toBeLessThan(ASKED_MIB * 2);
    });

    it("temporary folders have their own end", async () => {
      const args = ["400", "80000", "/tmp", "/dev/shm"];
      const attempts = await attackInside(actor, { source: fill, args, cwd: actor.folder(), flags: limits });
      for (const [name, attempt] of Object.entries(attempts)) {
        expect(outcome(attempt).end, name).toBe("ENOSPC");
        expect(outcome(attempt).count, name).toBeLessThanOrEqual(name.endsWith("bytes") ? 256 * MIB : 65_536);
      }
      expect(Object.keys(attempts)).toHaveLength(4);
    });

    it("all of them together end at the memory limit or at the disk's, and the sandbox can still be ended", async () => {
      const script =
        "for place in /workspace /tmp /dev/shm /var/tmp; do dd if=/dev/zero of=$place/filler bs=1M count=500; done; true";
      const flags = ["--disk", "64m", "--memory", "256m"];
      const result = await runIn(actor, [...flags, "sh", "-c", script], { cwd: actor.folder() });
      expect(result.stderr).toMatch(/No space left|Killed|memory limit/);
    });

    it("other sandboxes start and write while one is full", async () => {
      const cwd = actor.folder();
      const script =
        "dd if=/dev/zero of=/workspace/filler bs=1M count=200 2>/dev/null; dd if=/dev/zero of=/tmp/filler bs=1M count=400 2>/dev/null; " +
        "echo x > /workspace/more || echo full; echo paused-here; read -r _";
      const full = await runToPause(actor, limits, script, cwd);
      const other = await runIn(actor, ["sh", "-c", "head -c 10000000 /dev/zero > file && wc -c < file"], { cwd });
      expect(other).toMatchObject({ status: 0, stdout: "10000000\n" });
      expect((await full.finish()).stdout).toBe("full\n");
      expect(readdirSync(cwd)).toEqual([]);
    });
  });
});
