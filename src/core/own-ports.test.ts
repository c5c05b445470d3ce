import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isMarked, listenMarked, markPort, marksIn, SharedReading } from "./own-ports.js";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** A process that has bound an abstract name. */
async function holderOf(name: string): Promise<ChildProcess> {
  const script = `require("net").createServer().listen({path: "\\0${name}"}, () => console.log("bound"))`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

describe("ports of ours", () => {
  it("are marked while a server listens on them, and until its last connection has ended", async () => {
    const server = createServer();
    const port = await listenMarked(server, { host: "127.0.0.1", port: 0 });
    expect((server.address() as AddressInfo).port).toBe(port);
    expect(await isMarked("listener", port)).toBe(true);
    expect(await isMarked("dialled", port)).toBe(false);
    const client = connect(port, "127.0.0.1");
    const [accepted] = await once(server, "connection");
    server.close();
    expect(await isMarked("listener", port)).toBe(true);
    client.destroy();
    accepted.destroy();
    await once(server, "close");
    expect(await isMarked("listener", port)).toBe(false);
  });

  it("keep no mark when they cannot be listened on", async () => {
    const [first, second] = [createServer(), createServer()];
    await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve));
    const { port } = first.address() as AddressInfo;
    await expect(listenMarked(second, { host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(await isMarked("listener", port)).toBe(false);
    first.close();
  });

  it.runIf(process.platform === "linux")("are known from other processes, and forgotten with them", async () => {
    expect(await isMarked("listener", 7)).toBe(false);
    const child = await holderOf("agentkernel-port-listener-7-0123456789ab");
    expect(await isMarked("listener", 7)).toBe(true);
    expect(await isMarked("listener", 70)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "close");
    expect(await isMarked("listener", 7)).toBe(false);
  });

  it("may be marked several times", async () => {
    const [one, other] = [await markPort("dialled", 9), await markPort("dialled", 9)];
    one.release();
    one.release();
    expect(await isMarked("dialled", 9)).toBe(true);
    other.release();
    expect(await isMarked("dialled", 9)).toBe(false);
  });
});

describe("the kernel's table of Unix sockets", () => {
  it("has our names among others, padded or not", () => {
    const lines = [
      "Num       RefCount Protocol Flags    Type St Inode Path",
      "0000000000000000: 00000002 00000000 00010000 0001 01 1 @agentkernel-port-listener-8080-0123456789ab",
      "0000000000000000: 00000002 00000000 00010000 0001 01 2 @agentkernel-port-dialled-4000-0123456789ab@@@@",
      "0000000000000000: 00000002 00000000 00010000 0001 01 3 /tmp/@agentkernel-port-listener-1-0123456789ab/x",
      "0000000000000000: 00000002 00000000 00010000 0001 01 4",
    ];
    expect([...marksIn(`${lines.join("\n")}\n`)]).toEqual(["listener-8080", "dialled-4000"]);
  });

  it("is read once for all who ask together, in a reading that began after they asked", async () => {
    const readings: ((value: number) => void)[] = [];
    const shared = new SharedReading<number>(() => new Promise((resolve) => readings.push(resolve)));
    const first = shared.now();
    await Promise.resolve();
    const later = Array.from({ length: 1000 }, () => shared.now());
    expect(readings).toHaveLength(1);
    readings[0]?.(1);
    expect(await first).toBe(1);
    while (readings.length < 2) await Promise.resolve();
    readings[1]?.(2);
    expect(new Set(await Promise.all(later))).toEqual(new Set([2]));
    expect(readings).toHaveLength(2);
  });
});
