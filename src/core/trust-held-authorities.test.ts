import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tlsIdentity } from "../../test/support/tls-identity.js";
import { takeHeldAuthorities } from "./held-authorities.js";
import { trustHeldAuthorities } from "./trust-held-authorities.js";

const createContext = tls.createSecureContext;
let folder: string;
let server: Server;
let certPath: string;
let address: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "authorities-"));
  const identity = tlsIdentity(folder, ["IP:127.0.0.1"]);
  certPath = identity.certPath;
  server = createServer({ key: identity.key, cert: identity.cert }, (_asked, answer) => answer.end("served"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(async () => {
  Reflect.set(tls, "createSecureContext", createContext);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

function ask(ca?: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(address, { agent: false, ...(ca ? { ca } : {}) }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on("error", reject).end();
  });
}

describe("authorities that were held back from Node", () => {
  it("are trusted once that was asked for, by https and by fetch, and the variable has its name again", async () => {
    const env: NodeJS.ProcessEnv = { AGENTKERNEL_HELD_CA_CERTS: certPath };
    takeHeldAuthorities(env);
    expect(env).toEqual({ NODE_EXTRA_CA_CERTS: certPath });
    await expect(ask()).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    trustHeldAuthorities();
    expect(await ask()).toBe(200);
    expect(await (await fetch(address)).text()).toBe("served");
  });

  it("do not count for whoever says whom to trust", async () => {
    takeHeldAuthorities({ AGENTKERNEL_HELD_CA_CERTS: certPath });
    trustHeldAuthorities();
    const other = tlsIdentity(folder, ["IP:127.0.0.1"], "other");
    await expect(ask(other.cert)).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  it("are all of a file, whatever is written between them", async () => {
    const other = tlsIdentity(folder, ["IP:127.0.0.1"], "other");
    const bundle = join(folder, "bundle.pem");
    writeFileSync(bundle, `# one\n${other.cert}\n# two\n${readFileSync(certPath, "latin1")}`);
    takeHeldAuthorities({ AGENTKERNEL_HELD_CA_CERTS: bundle });
    trustHeldAuthorities();
    expect(await ask()).toBe(200);
  });

  it("change nothing where Node was given others", () => {
    const env: NodeJS.ProcessEnv = { AGENTKERNEL_HELD_CA_CERTS: certPath, NODE_EXTRA_CA_CERTS: "/etc/others.pem" };
    takeHeldAuthorities(env);
    expect(env).toEqual({ NODE_EXTRA_CA_CERTS: "/etc/others.pem" });
    trustHeldAuthorities();
    expect(tls.createSecureContext).toBe(createContext);
  });

  it("that cannot be read are warned of, as Node does", () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    takeHeldAuthorities({ AGENTKERNEL_HELD_CA_CERTS: join(folder, "none.pem") });
    trustHeldAuthorities();
    expect(warn).toHaveBeenCalledWith(
      expect.stringMatching(/^Ignoring extra certs from `.*none\.pem`, load failed: ENOENT/),
    );
    warn.mockRestore();
  });
});
