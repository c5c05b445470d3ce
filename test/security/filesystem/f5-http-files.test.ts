/** The file interface over HTTP against paths that lead elsewhere, files that are none, and files without end. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../../support/actors.js";
import { ApiServer } from "../../support/api-server.js";
import { runOutside } from "../support/process-programs.js";

describe("F5 files over HTTP", () => {
  describe.each(actors)("as $name", (actor) => {
    let server: ApiServer;
    let key: string;
    let secret: string;
    beforeAll(async () => {
      server = await ApiServer.start(actor);
      key = await server.key("admin", ["--scope", "admin"]);
      const folder = actor.folder("host");
      secret = join(folder, "secret");
      writeFileSync(secret, "of the host\n", { mode: 0o644 });
      mkdirSync(join(folder, "victim"), { mode: 0o777 });
      expect((await server.ask("POST", "/sandboxes", { body: { name: "box", network: false }, key })).status).toBe(201);
    });
    afterAll(async () => {
      await server.ask("DELETE", "/sandboxes/box?force=true", { key });
      await server.stop();
    });
    const inside = async (script: string) => {
      const { json } = await server.ask("POST", "/sandboxes/box/exec", {
        body: { command: ["sh", "-c", script] },
        key,
      });
      expect(json.data).toMatchObject({ exit_code: 0 });
    };
    const file = (method: string, path: string, query = "", sending: object = {}) =>
      server.ask(method, `/sandboxes/box/files/${path}${query}`, { key, ...sending });

    it("a link to a file of the host leads there outside, and nowhere here", async () => {
      const shown = await runOutside(actor, [
        "sh",
        "-c",
        'd=$(mktemp -d); ln -s "$1" "$d/link"; cat "$d/link"; rm -r "$d"',
        "sh",
        secret,
      ]);
      expect(shown.stdout).toBe("of the host\n");
      await inside(`ln -s ${secret} /tmp/link; ln -s ${join(secret, "..")} /tmp/folder`);
      for (const path of ["tmp/link", "tmp/folder", "tmp/folder/secret"]) {
        const { status, text } = await file("GET", path);
        expect([404, 400], path).toContain(status);
        expect(text).not.toContain("of the host");
      }
      await file("PUT", "tmp/folder/victim/planted", "", { body: { content: "x" } });
      await file("DELETE", "tmp/link");
      const after = await runOutside(actor, ["sh", "-c", 'cat "$1"; ls -A "$(dirname "$1")/victim"', "sh", secret]);
      expect(after.stdout).toBe("of the host\n");
    });

    it("a link that is swapped while it is used never leads out", async () => {
      await inside(
        `mkdir -p /tmp/swap; echo inside > /tmp/real; cd /tmp/swap; (while :; do ln -sfn /tmp/real x; ln -sfn ${secret} x; done) >/dev/null 2>&1 & sleep 0.1`,
      );
      for (let count = 0; count < 100; count++) {
        const { text } = await file("GET", "tmp/swap/x");
        expect(text).not.toContain("of the host");
      }
    });

    it("pipes, devices and sockets are no files, and nothing waits for them", async () => {
      await inside("mkfifo /tmp/pipe");
      for (const path of ["tmp/pipe", "dev/zero", "dev/null", "proc/kcore"]) {
        const { status, json } = await file("GET", path);
        expect(status, path).toBeGreaterThanOrEqual(400);
        expect(json.success, path).toBe(false);
      }
    });

    it("the process that opens files for callers does not show itself", async () => {
      const own = "tr '\\0' '\\n' </proc/self/environ; readlink /proc/self/exe; head -c 1 /proc/self/maps";
      const shown = (await runOutside(actor, ["sh", "-c", own])).stdout;
      for (const part of [/^PATH=/m, /^\//m, /^[0-9a-f]$/m]) expect(shown).toMatch(part);
      await inside("ln -s /proc/self/environ /tmp/environ; ln -s /proc/self/fd /tmp/fds");
      const paths = ["self/environ", "1/maps", "self/exe", "1/cmdline", "thread-self/status", "self/mem?offset=4096"];
      for (const path of [...paths.map((name) => `proc/${name}`), "tmp/environ", "tmp/fds/0"]) {
        const { status, json } = await file("GET", path);
        expect([status >= 400, json.success], path).toEqual([true, false]);
      }
      const { text } = await file("GET", "proc/meminfo");
      expect(text).toMatch(/^MemTotal:/);
    });

    it("a file of a terabyte is not held in memory: a part of it can be had, and the rest be left", async () => {
      await inside("truncate -s 1T /tmp/huge");
      const { status, json } = await file("GET", "tmp/huge", "?format=json");
      expect([status, json.error.code]).toEqual([400, "file_error"]);
      expect((await file("GET", "tmp/huge", "?offset=5&limit=10")).bytes).toEqual(Buffer.alloc(10));
      const stream = await server.open("GET", "/sandboxes/box/files/tmp/huge", { key });
      for await (const chunk of stream) {
        expect((chunk as Buffer).length).toBeGreaterThan(0);
        break;
      }
      stream.destroy();
      expect((await file("GET", "etc/hostname")).status).toBe(200);
    });

    it("archives with names that lead out, links or devices are refused", async () => {
      const folder = actor.folder("archive");
      const make = (script: string) => runOutside(actor, ["sh", "-c", `cd "$1" && ${script}`, "sh", folder]);
      const headers = { "content-type": "application/x-tar" };
      for (const script of [
        "echo x > a && tar --transform 's,^a,../../escape,' -P -cf t.tar a",
        "echo x > a && tar --transform 's,^a,/tmp/absolute,' -P -cf t.tar a",
        "ln -sf /etc link && tar -cf t.tar link",
        "echo x > a && ln -f a b && tar -cf t.tar a b",
        "mkfifo -m 600 p; tar -cf t.tar p",
      ]) {
        const made = await make(script);
        expect(made.status, made.stderr).toBe(0);
        const { readFileSync } = await import("node:fs");
        const body = readFileSync(join(folder, "t.tar"));
        const { status, json } = await file("PUT", "tmp/unpacked", "", { body, headers });
        expect([status, json.error.code], script).toEqual([400, "file_error"]);
      }
      expect((await file("GET", "tmp/absolute")).status).toBe(404);
      expect((await file("GET", "escape")).status).toBe(404);
    });
  });
});
