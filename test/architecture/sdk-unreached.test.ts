/** An SDK that reaches no server says which address it asked, and how to have one there. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AgentKernel } from "../../sdk/typescript/src/index.js";

it.each([
  ["a socket", `unix://${join(tmpdir(), "agentkernel-no-daemon.sock")}`],
  ["a port of loopback", "http://127.0.0.1:1"],
])("%s where nobody listens", async (_what, baseUrl) => {
  const client = new AgentKernel({ baseUrl, maxRetries: 0 });
  const failure = await client.health().then(
    () => null,
    (error: unknown) => error,
  );
  expect(String(failure)).toContain(baseUrl);
  expect(String(failure)).toContain("agentkernel daemon start");
  expect(String(failure)).toContain("AGENTKERNEL_BASE_URL");
});
