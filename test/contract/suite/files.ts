/** Files through the guest, as the file API and `cp` will use it. */
import { createHash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import type { Contract } from "./contract.js";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const refused = (code: string) => ({ code: "file_error", details: { code } });

export function filesContract(contract: Contract): void {
  contract.capability("files", (test) => {
    test("what the host writes, a command inside reads, byte for byte", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const sent = randomBytes(2_500_000);
        const written = await sandbox.files.writeFile("/tmp/a/b/in", sent, { mode: 0o640, parents: true });
        expect(written).toEqual({ sizeBytes: sent.length });
        const { stdout } = await sandbox.sh("sha256sum < /tmp/a/b/in; find /tmp/a/b/in -printf '%m\\n'");
        expect(stdout).toBe(`${sha256(sent)}  -\n640\n`);
      });
    });

    test("what a command writes, the host reads, whole or in part", async () => {
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.sh("printf 0123456789 > /tmp/out");
        const { files } = sandbox;
        expect(String(await files.readFile("/tmp/out", 100))).toBe("0123456789");
        expect(String(await files.readFile("/tmp/out", 100, { offsetBytes: 3, limitBytes: 4 }))).toBe("3456");
        await expect(files.readFile("/tmp/out", 5)).rejects.toMatchObject(refused("too_large"));
      });
    });

    test("a file is replaced as a whole or not at all", async () => {
      await contract.sandbox({}, async ({ files }) => {
        await files.writeFile("/tmp/kept", Buffer.from("old"));
        async function* broken() {
          yield Buffer.from("half of the n");
          throw new Error("the source of the upload is gone");
        }
        await expect(files.writeFile("/tmp/kept", broken())).rejects.toThrow("the source of the upload is gone");
        expect(String(await files.readFile("/tmp/kept", 100))).toBe("old");
      });
    });

    test("stat tells kind, size, rights and where a link leads, and does not follow it", async () => {
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.sh("cd /tmp; printf abc > f; chmod 751 f; mkdir d; ln -s /etc/passwd l; mkfifo p");
        const { files } = sandbox;
        expect(await files.stat("/tmp/f")).toMatchObject({ type: "file", sizeBytes: 3, target: null });
        expect((await files.stat("/tmp/f")).mode & 0o777).toBe(0o751);
        expect(await files.stat("/tmp/d")).toMatchObject({ type: "dir" });
        expect(await files.stat("/tmp/l")).toMatchObject({ type: "symlink", target: "/etc/passwd" });
        expect(await files.stat("/tmp/p")).toMatchObject({ type: "other" });
        await expect(files.stat("/tmp/none")).rejects.toMatchObject(refused("not_found"));
      });
    });

    test("a folder is listed with odd names and all", async () => {
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.sh(
          "mkdir /tmp/d; cd /tmp/d; mkdir sub; : > 'a b'; : > ümlaut; printf x > \"$(printf 'new\\nline')\"",
        );
        const { entries, truncated } = await sandbox.files.list("/tmp/d");
        expect(truncated).toBe(false);
        expect(
          entries.map(({ name, type, sizeBytes }) => [name, type, type === "file" ? sizeBytes : 0]).sort(),
        ).toEqual(
          [
            ["a b", "file", 0],
            ["new\nline", "file", 1],
            ["sub", "dir", 0],
            ["ümlaut", "file", 0],
          ].sort(),
        );
        await expect(sandbox.files.list("/tmp/d/a b")).rejects.toMatchObject(refused("not_dir"));
      });
    });

    test("folders are made, things renamed and removed", async () => {
      await contract.sandbox({}, async ({ files }) => {
        await expect(files.mkdir("/tmp/x/y")).rejects.toMatchObject(refused("not_found"));
        await files.mkdir("/tmp/x/y", { parents: true });
        await expect(files.mkdir("/tmp/x")).rejects.toMatchObject(refused("exists"));
        await files.writeFile("/tmp/x/y/f", Buffer.from("text"));
        await files.rename("/tmp/x/y/f", "/tmp/x/g");
        expect(String(await files.readFile("/tmp/x/g", 10))).toBe("text");
        await expect(files.remove("/tmp/x")).rejects.toMatchObject({ code: "file_error" });
        await files.remove("/tmp/x", { recursive: true });
        await expect(files.stat("/tmp/x")).rejects.toMatchObject(refused("not_found"));
      });
    });

    test("what is no regular file is refused at once, not opened", async () => {
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.sh("mkfifo /tmp/pipe; mkdir /tmp/folder");
        for (const path of ["/tmp/pipe", "/tmp/folder", "/dev/zero"]) {
          await expect(sandbox.files.readFile(path, 1000)).rejects.toMatchObject(refused("not_regular"));
          await expect(sandbox.files.writeFile(path, Buffer.from("x"))).rejects.toMatchObject(refused("not_regular"));
        }
        await expect(sandbox.files.readFile("/tmp/none", 10)).rejects.toMatchObject(refused("not_found"));
      });
    });

    test("removing a folder never follows a link out of it", async () => {
      await contract.sandbox({}, async (sandbox) => {
        await sandbox.sh("mkdir /tmp/kept /tmp/doomed; echo safe > /tmp/kept/f; ln -s /tmp/kept /tmp/doomed/link");
        await sandbox.files.remove("/tmp/doomed", { recursive: true });
        expect(String(await sandbox.files.readFile("/tmp/kept/f", 10))).toBe("safe\n");
      });
    });
  });
}
