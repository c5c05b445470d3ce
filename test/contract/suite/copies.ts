/** Files and folders into and out of a sandbox, as `cp` does it. */
import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type CopyEnd, type CopyOptions, copyTree } from "../../../src/runtime/copy/index.js";
import { contentOf } from "../../support/project.js";
import type { Contract } from "./contract.js";

const options: CopyOptions = { hide: [], maxBytes: 1 << 30, maxEntries: 100_000 };
const onHost = (path: string): CopyEnd => ({ at: "host", path });

export function copiesContract(contract: Contract): void {
  const { actor } = contract;

  contract.capability("files", (test) => {
    test("a folder goes in and comes out again as it was", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
        const folder = actor.folder("copies");
        const source = join(folder, "source");
        mkdirSync(join(source, "deep", "er"), { recursive: true });
        mkdirSync(join(source, "empty"));
        for (let n = 0; n < 500; n++) writeFileSync(join(source, "deep", `${n}`), `file ${n}\n`);
        writeFileSync(join(source, "deep/er/large"), "0123456789abcdef".repeat(200_000));
        chmodSync(join(source, "deep/7"), 0o751);
        symlinkSync("deep/7", join(source, "link"));
        const seen: number[] = [];
        const sent = await copyTree(onHost(source), inside("/tmp/"), { ...options, onProgress: (n) => seen.push(n) });
        expect(sent).toMatchObject({ files: 501, folders: 4, links: 1, notes: [], omitted: 0 });
        expect(seen.at(-1)).toBeGreaterThan(sent.bytes);
        const found = await sandbox.sh(
          "cd /tmp/source; find . | wc -l; cat deep/499 link; find deep/7 empty -maxdepth 0 -printf '%m %y\\n'",
        );
        expect(found.stdout).toMatch(/^506\nfile 499\nfile 7\n751 f\n\d+ d\n/);
        const back = join(folder, "back");
        expect(await copyTree(inside("/tmp/source"), onHost(back), options)).toEqual(sent);
        expect(contentOf(back)).toEqual(contentOf(source));
        expect(statSync(join(back, "deep/7")).mode & 0o7777).toBe(0o751);
        // Into folders that are there: under its own name, or what is in it.
        await copyTree(inside("/tmp/source/empty"), onHost(back), options);
        await copyTree(inside("/tmp/source/deep/."), onHost(join(back, "empty")), options);
        expect(existsSync(join(back, "empty", "er", "large"))).toBe(true);
        const between = await copyTree(inside("/tmp/source/deep"), inside("/opt/deep"), options);
        expect(between).toMatchObject({ files: 501, folders: 2 });
      });
    });

    test("one file takes the name that it is given, or its own in a folder", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const inside = (path: string): CopyEnd => ({ at: "sandbox", path, files: sandbox.files });
        const folder = actor.folder("copies");
        writeFileSync(join(folder, "a.txt"), "text\n");
        await copyTree(onHost(join(folder, "a.txt")), inside("/tmp/b.txt"), options);
        await copyTree(onHost(join(folder, "a.txt")), inside("/opt"), options);
        expect((await sandbox.sh("cat /tmp/b.txt /opt/a.txt")).stdout).toBe("text\ntext\n");
        await copyTree(inside("/tmp/b.txt"), onHost(`${folder}/`), options);
        expect(contentOf(folder)).toEqual({ "a.txt": "text\n", "b.txt": "text\n" });
        const refused = async (from: CopyEnd, to: CopyEnd, code: string) =>
          await expect(copyTree(from, to, options)).rejects.toMatchObject({ details: { code } });
        await refused(inside("/tmp/none"), onHost(folder), "not_found");
        await refused(inside("/tmp/b.txt"), onHost(join(folder, "no", "such")), "not_found");
        await refused(onHost(join(folder, "none")), inside("/tmp"), "not_found");
        await refused(onHost(folder), inside("/tmp/b.txt"), "not_dir");
        await refused(onHost(join(folder, "a.txt")), inside("/none/here"), "not_found");
        await refused(inside("/dev/zero"), onHost(folder), "not_regular");
      });
    });
  });
}
