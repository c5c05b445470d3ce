import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Actor, actors } from "../../support/actors.js";
import { clientOf, onlyThroughDaemon, TestDaemon } from "../../support/daemon.js";
import { runIn } from "../../support/run-cli.js";
import { attackOutside } from "../support/fs-attack.js";
import { PAUSE, runToPause } from "../support/fs-paused-run.js";
import { plant } from "../support/fs-tree.js";

const SECRET = "cGxhbnRlZC1zZWNyZXQtb2YtdGhlLXByb2plY3Q";
const SEARCHES = 25;
const SWAPS = 1000;
/** `npm run test:long` makes them a thousand. */
const RACED_RUNS = Number(process.env.AGENTKERNEL_TEST_RACED_RUNS ?? 60);
/** Some of them are read late, in whatever order that is. */
const victims = Array.from({ length: 10 }, (_, n) => `d${n}`);
/** They give the swap its time: between the directory's name and the directory itself, all of them may be read. */
const siblings = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`s${n}/code.txt`, "code"]));

/**
 * Searches a project again and again, as a run does before it shows one. Each time, when all names at the top were read,
 * the victims are taken away, or are symlinks instead, until the search has ended.
 */
const swapDuringSearches = `
import subprocess
project, away, program, searches, victims = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
order = json.dumps({"path": project, "hide": [{"glob": "**/.env*", "reason": "secret"}]}).encode()
CLOSED = 0x10
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def search(swap, back):
    watch = libc.inotify_init1(0)
    if libc.inotify_add_watch(watch, project.encode(), CLOSED) < 0:
        raise OSError(ctypes.get_errno(), "watch")
    # On one processor, the search gives way to the attack as soon as that has something to do.
    running = subprocess.Popen(["nice", "-n", "19", program, "hidden"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    running.stdin.write(order)
    running.stdin.close()
    os.read(watch, 4096)
    os.close(watch)
    for name in victims:
        os.rename(project + "/" + name, away + "/" + name)
        swap(project + "/" + name)
    found = json.loads(running.stdout.read())
    running.wait()
    for name in victims:
        back(project + "/" + name)
        os.rename(away + "/" + name, project + "/" + name)
    return [one["path"] for one in found["hidden"]]
def nothing(path):
    pass
for n in range(searches):
    results["link %d" % n] = {"ok": json.dumps(search(lambda path: os.symlink(away + "/decoy", path), os.unlink))}
    results["gone %d" % n] = {"ok": json.dumps(search(nothing, nothing))}
`;

/** Puts a directory with secrets into each directory of a project that was searched and is being copied into a sandbox. */
const moveDuringCopy = `
import subprocess
project, away, program, secret, victims = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
rules = [{"glob": "**/.env*", "reason": "secret"}, {"glob": "**/id_*", "holds": "private-key", "reason": "key"}]
copy = [program, "read", json.dumps({"path": project, "hide": rules})]
running = subprocess.Popen(copy, stdout=subprocess.PIPE)
# It has searched all, and waits with the first of the large files.
stream = running.stdout.read(1)
for name in victims:
    os.rename(away + "/" + name, project + "/" + name + "/new")
stream += running.stdout.read()
running.wait()
results["moved"] = {"ok": str(stream.count(b"moved code"))}
results["secrets"] = {"ok": str(stream.count(secret.encode()))}
`;

/** Swaps a directory of its own for a symlink to a hidden one, and takes it away and back, until it is told to stop. */
const swapInside = `
import os
count = 0
while count < ${SWAPS} or not os.path.exists("stop"):
    os.rename("d", "d-away")
    os.symlink(".docker", "d")
    os.unlink("d")
    os.rename("d-away", "d")
    count += 1
print(count, "swaps")
`;

/**
 * The host at work in a project, as builds and checkouts are: directories come, go and change their names, and a file of
 * secrets is written again in its place. Until it is told to stop.
 */
const changeOutside = `
import os, sys
project, stop, secret = sys.argv[1], sys.argv[2], sys.argv[3]
os.chdir(project)
rounds = 0
while not os.path.exists(stop):
    for n in range(20):
        os.rename("s%d" % n, "renamed%d" % n)
        os.makedirs("made%d/below" % n)
        open("made%d/below/code.txt" % n, "w").close()
        with open("sub/.env", "r+") as file:
            file.write("KEY=" + secret)
        os.unlink("made%d/below/code.txt" % n)
        os.removedirs("made%d/below" % n)
        os.rename("renamed%d" % n, "s%d" % n)
    rounds += 1
print(rounds, "rounds")
`;

function project(actor: Actor): string {
  const config = `{"auths":{"https://index.docker.io/v1/":{"auth":"${SECRET}"}}}`;
  return plant(actor, actor.folder(), { ".docker/config.json": config, "d/code.txt": "code", ...siblings });
}

describe("F12 the search for secrets is raced", () => {
  describe.each(actors)("as $name", (actor) => {
    it("outside, a directory that became a link since its name was read is followed, O_NOFOLLOW or not", async () => {
      const cwd = plant(actor, actor.folder(), { "decoy/code.txt": "code", "d/code.txt": "code" });
      const source = `
names = [entry.name for entry in os.scandir() if entry.is_dir(follow_symlinks=False)]
os.rename("d", "d-away")
os.symlink("decoy", "d")
attempt("opened", lambda: os.listdir(os.open(names[names.index("d")] + "/", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)))
`;
      expect(await attackOutside(actor, { source, cwd })).toEqual({ opened: { ok: "['code.txt']" } });
    });

    it("what went away or became a link after its name was read is hidden, and the link is not followed", async () => {
      const away = plant(actor, actor.folder(), { "decoy/.env.decoy": "KEY=x\n" });
      const secrets = Object.fromEntries(victims.map((name) => [`${name}/.env`, `KEY=${SECRET}\n`]));
      const cwd = plant(actor, actor.folder(), { ...secrets, ...siblings });
      const args = [cwd, away, join(actor.dist, "native", "ak-copy"), String(SEARCHES), ...victims];
      const searches = await attackOutside(actor, { source: swapDuringSearches, args, cwd });
      const hidden = Object.values(searches).map(({ ok = "[]" }) => JSON.parse(ok) as string[]);
      expect(hidden).toHaveLength(2 * SEARCHES);
      // Each victim as a whole, or the file in it where the search was faster.
      const isSafe = (paths: readonly string[]) =>
        paths.length === victims.length &&
        victims.every((name) => paths.includes(name) !== paths.includes(`${name}/.env`));
      expect(hidden.filter((paths) => !isSafe(paths))).toEqual([]);
    });

    it("what was moved into a project after the search is judged as it is copied into a container or machine", async () => {
      const key = `-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKj3Nq${SECRET}\n`;
      const moved = (name: string) =>
        ({ [`${name}/.env`]: `KEY=${SECRET}\n`, [`${name}/id_key`]: key, [`${name}/code.txt`]: "moved code" }) as const;
      const away = plant(actor, actor.folder(), Object.assign({}, ...victims.map(moved)));
      const large = Object.fromEntries(victims.map((name) => [`${name}/large`, "x".repeat(1 << 20)]));
      const cwd = plant(actor, actor.folder(), large);
      const args = [cwd, away, join(actor.dist, "native", "ak-copy"), SECRET, ...victims];
      const { moved: code, secrets } = await attackOutside(actor, { source: moveDuringCopy, args, cwd });
      expect(Number(code?.ok)).toBeGreaterThan(0);
      expect(secrets?.ok).toBe("0");
    });

    it("sandboxes that start while another one swaps directories find no secret", async () => {
      const cwd = project(actor);
      const script = `python3 -c '${swapInside}' & ${PAUSE}; touch stop; wait $!`;
      const swapping = await runToPause(actor, ["--workspace", "mount"], script, cwd);
      const look = `grep -rlF ${SECRET} .; for n in $(seq 200); do cat d/config.json; done; echo looked`;
      for (const form of ["copy", "copy", "sync", "mount"]) {
        const next = await runIn(actor, ["--workspace", form, "sh", "-c", `{ ${look}; } 2>/dev/null`], { cwd });
        expect(next).toMatchObject({ stdout: "looked\n", status: 0 });
      }
      const { stdout, status } = await swapping.finish();
      expect(status).toBe(0);
      expect(Number(/^(\d+) swaps$/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(SWAPS);
    });

    it("nor do those that come one after the other from a daemon, while the host changes the project too", async () => {
      const cwd = plant(actor, actor.folder(), {
        "sub/.env": `KEY=${SECRET}\n`,
        ".docker/config.json": `{"auths":{"https://index.docker.io/v1/":{"auth":"${SECRET}"}}}`,
        "d/code.txt": "code",
        ...siblings,
      });
      const stop = join(actor.folder(), "stop");
      const client = clientOf(actor);
      const daemon = new TestDaemon(client);
      await daemon.ready;
      const script = `python3 -c '${swapInside}' & ${PAUSE}; touch stop; wait $!`;
      const swapping = await runToPause(actor, ["--workspace", "mount"], script, cwd);
      const identity = process.getuid?.() === 0 ? { uid: actor.uid, gid: actor.gid } : {};
      const host = spawn("python3", ["-c", changeOutside, cwd, stop, SECRET], {
        stdio: ["ignore", "pipe", "pipe"],
        ...identity,
      });
      let said = "";
      for (const stream of [host.stdout, host.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
      const over = new Promise((resolve) => host.once("close", resolve));
      try {
        const look = `grep -rlF ${SECRET} .; cat d/config.json sub/.env; echo looked`;
        for (let run = 0; run < RACED_RUNS; run++) {
          // News of this moment: what earlier sandboxes saw there must not be believed.
          writeFileSync(join(cwd, `s${20 + (run % 200)}`, ".env"), `KEY=${SECRET}\n`);
          const one = await runIn(onlyThroughDaemon(client), ["sh", "-c", `{ ${look}; } 2>/dev/null`], { cwd });
          expect(one, `run ${run}`).toMatchObject({ stdout: "looked\n", status: 0 });
        }
      } finally {
        writeFileSync(stop, "");
        await over;
        await swapping.finish();
        await daemon.stop();
      }
      expect(said).toMatch(/^[1-9]\d* rounds\n$/);
    });
  });
});
