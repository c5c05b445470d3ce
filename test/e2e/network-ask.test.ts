/** `run --ask`: what no rule covers is put to the user on the terminal, and the answer holds as long as it says. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { actors } from "../support/actors.js";
import { EVERYWHERE, NetworkWorld, WORLD, whyNoWorld } from "../support/network-world.js";
import { leavesNothingBehind } from "../support/nothing-left.js";
import { onTerminal } from "../support/on-terminal.js";
import { runCli } from "../support/run-cli.js";

const NAME = "asked.example.com";
const question =
  "wants to reach asked\\.example\\.com:80\\. Allow it\\? \\[o\\]nce, for this \\[s\\]andbox, \\[n\\]ever: ";
const fetchOnce = `curl -sf -m 40 http://${NAME}/ >/dev/null && echo reached || echo kept out`;
const proxyless = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy";

describe.skipIf(whyNoWorld() !== null)("a destination that no rule covers", () => {
  let world: NetworkWorld;

  beforeAll(async () => {
    world = await NetworkWorld.start();
    await world.listen(EVERYWHERE, 80, { kind: "http" });
    await world.name(NAME, [WORLD.public4]);
  });
  afterAll(() => world?.stop());

  describe.each(actors)("as $name", (actor) => {
    leavesNothingBehind();
    const ask = (script: string, ...steps: Parameters<typeof onTerminal>[3]) =>
      onTerminal(
        world,
        actor,
        ["run", "--network", "allowlist", "--ask", "--", "sh", "-c", `${proxyless}\n${script}`],
        steps,
      );
    const outcomes = (output: string) => output.match(/^(reached|kept out)(?=\r$)/gm);
    const questions = (output: string) => output.match(/wants to reach/g)?.length ?? 0;

    const approvals = async (): Promise<readonly unknown[]> => {
      const { stdout } = await runCli(actor, ["audit", "list", "--type", "approval", "--limit", "1000", "--json"]);
      return JSON.parse(stdout).data;
    };

    it("allowed once, is asked for again, and each answer is on record", async () => {
      const before = (await approvals()).length;
      const session = await ask(
        `${fetchOnce}; ${fetchOnce}`,
        { expect: question },
        { type: "o\r" },
        { expect: question },
        { type: "n\r" },
      );
      expect(outcomes(session.output), session.output).toEqual(["reached", "kept out"]);
      expect(session).toMatchObject({ status: 0, restored: true });
      expect((await approvals()).slice(before)).toMatchObject([
        { asked: NAME, port: 80, verdict: "allowed", answer: "once", by: "terminal" },
        { asked: NAME, port: 80, verdict: "denied", answer: "never", by: "terminal" },
      ]);
    });

    it("allowed for this sandbox, is not asked for again", async () => {
      const session = await ask(`${fetchOnce}; ${fetchOnce}`, { expect: question }, { type: "s\r" });
      expect(outcomes(session.output), session.output).toEqual(["reached", "reached"]);
      expect(questions(session.output)).toBe(1);
    });

    it("refused, stays refused; nothing of it is resolved or dialled; the end says who did", async () => {
      await world.takeRecord();
      const session = await ask(`${fetchOnce}; ${fetchOnce}`, { expect: question }, { type: "n\r" });
      expect(outcomes(session.output), session.output).toEqual(["kept out", "kept out"]);
      expect(questions(session.output)).toBe(1);
      expect(session.output).toContain("blocked: asked.example.com:80 (2 times): the user refused it");
      expect(await world.takeRecord()).toEqual({ queries: [], connections: [], requests: [] });
    });

    it("is refused at once when the input ends, which is on record too", async () => {
      const session = await ask(fetchOnce, { expect: question }, { type: "\u0004" });
      expect(outcomes(session.output), session.output).toEqual(["kept out"]);
      expect(session.output).toContain("blocked: asked.example.com:80, allow with --allow-domain asked.example.com");
      expect((await approvals()).at(-1)).toMatchObject({ asked: NAME, verdict: "denied", answer: "none" });
    });

    it("is asked for again when the answer is none of the three", async () => {
      const session = await ask(
        fetchOnce,
        { expect: question },
        { type: "maybe\r" },
        { expect: question },
        { type: "o\r" },
      );
      expect(outcomes(session.output), session.output).toEqual(["reached"]);
    });

    it("cannot be asked for while the program inside has the terminal", async () => {
      const session = await onTerminal(world, actor, ["run", "--ask", "--tty", "--allow-domain", NAME, "true"], []);
      expect(session.output).toMatch(/--ask contradicts --tty/);
      expect(session.status).toBe(125);
    });

    it("without a terminal there is nobody to ask, and the run says so before it starts", async () => {
      const result = await world.runOutside(actor, [
        "setsid",
        "--wait",
        process.execPath,
        `${actor.dist}/agentkernel.js`,
        ...["run", "--ask", "true"],
      ]);
      expect(result.status).toBe(125);
      expect(result.stderr).toMatch(/--ask needs a terminal to ask on/);
    });
  });
});
