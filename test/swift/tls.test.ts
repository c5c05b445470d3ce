/** The SDK for Swift over TLS, which Foundation speaks. On Linux it trusts what the system trusts, and nothing else. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { environmentOf, root } from "../support/actors.js";
import { ApiServer } from "../support/api-server.js";
import { repository } from "../support/repository.js";
import { buildSdk, outputOf, swift } from "../support/sdk/runners.js";

const trusted = "/etc/ssl/certs/ca-certificates.crt";
const program = [
  "sh",
  join(repository, "scripts", "swift.sh"),
  "exec",
  join(repository, ".build/sdk/swift/debug/Measure"),
];

it.skipIf(root === undefined)("calls, commands and streams go over https", { timeout: 300_000 }, async () => {
  if (root === undefined) return;
  await buildSdk(swift);
  const folder = root.folder("tls");
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", [...request, ...names, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  const server = await ApiServer.start(root, ["--tls-cert", certificate, "--tls-key", key]);
  try {
    const env = {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      ...environmentOf(server.actor),
      AGENTKERNEL_BASE_URL: `https://127.0.0.1:${server.port}`,
      AGENTKERNEL_API_KEY: await server.key("tls", ["--scope", "admin"]),
    };
    // In a mount namespace of its own the system trusts this one certificate.
    const trusting = [
      "unshare",
      "--mount",
      "sh",
      "-c",
      `mount --bind "$0" ${trusted} && exec "$@"`,
      certificate,
      ...program,
    ];
    const measured = async (...words: string[]) => JSON.parse(await outputOf([...trusting, ...words], env));
    expect((await measured("list", "64", "8")).calls_per_second).toBeGreaterThan(0);
    expect((await measured("stream", "300000", "0")).bytes).toBe(300_000);
    // Without that trust no key goes out.
    await expect(outputOf([...program, "list", "1", "1"], env)).rejects.toThrow(/transport/);
  } finally {
    await server.stop();
  }
});
