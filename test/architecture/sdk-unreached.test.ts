/** An SDK that reaches no server says which address it asked, and how to have one there. */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

interface Client {
  health(): Promise<unknown>;
}

interface Sdk {
  readonly AgentKernel: new (options: { readonly baseUrl: string; readonly maxRetries: number }) => Client;
}

// By a path that is put together: the SDK's types are checked with the settings of its own package.
const source = resolve("sdk", "typescript", "src", "index.ts");

it.each([
  ["a socket", `unix://${join(tmpdir(), "agentkernel-no-daemon.sock")}`],
  ["a port of loopback", "http://127.0.0.1:1"],
])("%s where nobody listens", async (_what, baseUrl) => {
  const { AgentKernel } = (await import(source)) as Sdk;
  const client = new AgentKernel({ baseUrl, maxRetries: 0 });
  const failure = await client.health().then(
    () => null,
    (error: unknown) => error,
  );
  expect(String(failure)).toContain(baseUrl);
  expect(String(failure)).toContain("agentkernel daemon start");
  expect(String(failure)).toContain("AGENTKERNEL_BASE_URL");
});
