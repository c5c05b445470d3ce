/** A command with a terminal of its own. */
import { expect } from "vitest";
import type { Contract } from "./contract.js";

export function terminalContract(contract: Contract): void {
  contract.capability("terminal", (test) => {
    test("is one: /dev/pts, of the size that was asked for, the controlling one", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const byName = contract.has("controlling-terminal-by-name") ? "echo through /dev/tty > /dev/tty" : ":";
        const { stdout, code } = await sandbox.sh(`tty; stty size; ${byName}`, { tty: { cols: 101, rows: 33 } });
        const through = byName === ":" ? "" : "through /dev/tty\r\n";
        expect(stdout.replace(/^\/dev\/pts\/\d+/, "/dev/pts/N")).toBe(`/dev/pts/N\r\n33 101\r\n${through}`);
        expect(code).toBe(0);
      });
    });

    test("stderr and stdout are one stream", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const { stdout } = await sandbox.sh("echo one; echo two >&2; echo three", { tty: { cols: 80, rows: 24 } });
        expect(stdout).toBe("one\r\ntwo\r\nthree\r\n");
      });
    });

    test("a resize reaches the command as SIGWINCH and as the new size", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done";
        const command = await sandbox.start(["sh", "-c", script], { tty: { cols: 80, rows: 24 } });
        await command.until(/ready/);
        command.exec.resize({ cols: 132, rows: 50 });
        expect(await command.ran()).toMatchObject({ code: 0, stdout: "ready\r\n50 132\r\n" });
      });
    });
  });

  contract.capability("terminal-keys", (test) => {
    test("Ctrl-C interrupts what runs in the foreground", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", "echo ready; exec sleep 4006"], {
          tty: { cols: 80, rows: 24 },
        });
        await command.until(/ready/);
        command.type("\u0003");
        expect(await command.ran()).toMatchObject({ code: null, signal: 2 });
      });
    });

    test("the end of input is the terminal's own", async () => {
      await contract.sandbox({}, async (sandbox) => {
        const command = await sandbox.start(["sh", "-c", "echo ready; cat; echo over"], {
          tty: { cols: 80, rows: 24 },
        });
        await command.until(/ready\r\n/);
        command.type("typed\n");
        await command.until(/typed\r\ntyped\r\n/);
        command.exec.endStdin();
        expect((await command.ran()).stdout).toMatch(/over\r\n$/);
      });
    });
  });
}
