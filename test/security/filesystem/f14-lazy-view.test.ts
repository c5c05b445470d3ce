/** What a machine sees of a project that it asks for as it is touched, while the host changes that project. */
import { linkSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Subject } from "../../contract/suite/subject.js";
import { actors } from "../../support/actors.js";
import { machinesOf, missingForMachines, withContractImage } from "../../support/microvm-backend.js";
import { makeProject } from "../../support/project.js";
import { privateKeyHolding } from "../../support/secret-files.js";

const SECRET = "hunter22-of-the-host";
const [actor] = actors;
const missing = missingForMachines();

describe("F14 on microvm: a lazy view has no way around the rules", () => {
  if (missing !== null || actor?.name !== "root") {
    it.skip(`needs ${missing ?? "root"}`, () => {});
    return;
  }
  const { backend, templates } = machinesOf(actor);
  afterAll(() => templates.close());

  async function inMachine(
    files: Readonly<Record<string, string>>,
    use: (box: Subject, path: string) => Promise<void>,
  ) {
    const { path } = makeProject(actor as NonNullable<typeof actor>, files);
    const options = { projectDir: path, fields: { "fs.workspace.mode": "copy" as const } };
    const box = await Subject.boot(withContractImage(backend), options);
    try {
      await use(box, path);
    } finally {
      await box.kill();
    }
  }

  it("nothing is copied ahead, and what the host hides, moves or plants meanwhile stays hidden", async () => {
    // More directories than are asked for ahead, so that the last of them is not known before it is looked at.
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`d${n}/f`, ""]));
    const files = { ...many, ".env": SECRET, "late/b.txt": "b", "late/tls.pem": "nothing yet", "late/log": "old" };
    await inMachine(files, async (box, path) => {
      // An answer comes when the project was searched.
      expect(await box.sh("ls -A /workspace | wc -l")).toMatchObject({ stdout: "61\n" });
      linkSync(join(path, ".env"), join(path, "late/linked.txt"));
      renameSync(join(path, ".env"), join(path, "late/moved.txt"));
      writeFileSync(join(path, "late/.env.local"), SECRET);
      writeFileSync(join(path, "late/tls.pem"), privateKeyHolding("pem"));
      writeFileSync(join(path, "late/since.txt"), "since");
      mkdirSync(join(path, "late/.ssh"));
      writeFileSync(join(path, "late/.ssh/id_rsa"), SECRET);
      // Outside, each of these can be read.
      for (const name of ["late/linked.txt", "late/moved.txt", "late/.env.local", "late/.ssh/id_rsa"]) {
        expect(readFileSync(join(path, name), "utf8")).toBe(SECRET);
      }
      expect(await box.sh("ls -A /workspace/late; cat /workspace/late/since.txt")).toMatchObject({
        stdout: "b.txt\nlog\nsince.txt\nsince",
      });
      const names =
        "late/linked.txt late/moved.txt late/.env.local late/.ssh late/.ssh/id_rsa late/tls.pem .env ././/.env";
      const tries = `cd /workspace; for f in ${names}; do cat $f; stat $f; cd late; cat ../$f; cd ..; done 2>/dev/null`;
      expect(await box.sh(tries)).toMatchObject({ stdout: "" });
      expect(await box.sh(`grep -r '${SECRET}' /workspace 2>/dev/null`)).toMatchObject({ stdout: "" });
    });
  });

  it("a handle that is kept over a rename shows no more than the name did", async () => {
    await inMachine({ "d/.env": SECRET, "d/a.txt": "text", "e/x": "" }, async (box) => {
      const script =
        "cd /workspace/d; exec 3<.; mv /workspace/d /workspace/e/moved; cat .env /proc/self/fd/3/.env; cd ../e/moved; cat .env; ls -A";
      expect(await box.sh(`(${script}) 2>/dev/null`)).toMatchObject({ stdout: "a.txt\n" });
    });
  });

  it("a file that changes is an error once and then whole, and an absent name stays what it was", async () => {
    await inMachine({ log: "old", other: "x" }, async (box, path) => {
      expect(await box.sh("cd /workspace; ls; cat new .env")).toMatchObject({ stdout: "log\nother\n" });
      writeFileSync(join(path, "log"), "the new one");
      writeFileSync(join(path, "new"), "new");
      writeFileSync(join(path, ".env"), SECRET);
      const { stdout, stderr } = await box.sh("cd /workspace; cat log; echo; cat log; cat new .env");
      expect(stdout).toBe("\nthe new one");
      expect(stderr).toMatch(/Stale file handle/);
    });
  });

  it("a flood of requests keeps nobody from being answered", async () => {
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`d${n % 20}/f${n}`, "x".repeat(n * 100)]));
    await inMachine(files, async (box) => {
      const flood =
        "for i in 1 2 3 4 5 6; do (while :; do find /workspace -type f -exec cat {} + ; ls /workspace/none-$i; done >/dev/null 2>&1) & done";
      await box.sh(`${flood}; sleep 2; kill $(jobs -p) 2>/dev/null; true`);
      expect(await box.sh("cat /workspace/d*/f* | wc -c")).toMatchObject({ stdout: `${(199 * 200 * 100) / 2}\n` });
    });
  });
});
