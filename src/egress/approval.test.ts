import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deferred } from "../core/deferred.js";
import type { ApprovalChoice, Question } from "./approval.js";
import { allowlist, nothing, PUBLIC, World } from "./testing/world.js";

let world: World;
let questions: Question[];
let answers: ApprovalChoice[];
beforeEach(async () => {
  world = new World();
  questions = [];
  answers = [];
  world.names.set("new.example", [PUBLIC]);
  await world.serve(PUBLIC, 443, (socket) => socket.end());
});
afterEach(() => world.end());

const target = { kind: "name", name: "new.example", port: 443 } as const;
const ask = async (question: Question): Promise<ApprovalChoice> => {
  questions.push(question);
  return answers.shift() ?? "never";
};

describe("a destination that no rule covers", () => {
  it("may be allowed once, and is asked for again", async () => {
    answers = ["once", "never"];
    const gateway = world.gateway(allowlist(), { ask });
    await world.client(gateway, target);
    expect(await world.refusal(gateway, target)).toMatchObject({ code: "denied" });
    expect(questions).toMatchObject([{ sandbox: "test", host: "new.example", port: 443, via: "capture" }, {}]);
    expect(world.decisions[0]?.rule).toBe("the user allowed it, once");
  });

  it("beyond the user's limits is not asked for, whoever is there, and what lies within them is", async () => {
    answers = ["sandbox", "sandbox", "sandbox"];
    const limited = { ...allowlist(), approvable: [{ domain: "*.example.com" }, { cidr: "10.0.0.0/8" }] };
    const gateway = world.gateway(limited, { ask });
    const why = "the user's limits leave nothing to approve";
    expect(await world.refusal(gateway, target)).toMatchObject({
      code: "denied",
      message: expect.stringContaining(why),
    });
    const address = { kind: "address", address: PUBLIC, port: 443 } as const;
    expect(await world.refusal(gateway, address)).toMatchObject({ code: "denied" });
    expect(questions).toEqual([]);
    world.names.set("new.example.com", [PUBLIC]);
    await world.client(gateway, { ...target, name: "new.example.com" });
    expect(questions).toHaveLength(1);
  });

  it("may be allowed for the sandbox, or never, and is then asked for no more", async () => {
    answers = ["sandbox", "never"];
    const gateway = world.gateway(allowlist(), { ask });
    for (let i = 0; i < 3; i++) await world.client(gateway, target);
    for (let i = 0; i < 3; i++) await world.refusal(gateway, { ...target, port: 80 });
    expect(questions).toHaveLength(2);
  });

  it("is asked for once by connections that come together, and not resolved before the answer", async () => {
    const answer = deferred<ApprovalChoice>();
    let asked = 0;
    const gateway = world.gateway(allowlist(), {
      ask: () => {
        asked++;
        return answer.promise;
      },
    });
    expect(await gateway.lookup("new.example")).toEqual({ ipv4: true, ipv6: false });
    const streams = [await world.pair(), await world.pair(), await world.pair()];
    const opening = streams.map(({ outside }) => gateway.connect(target, outside));
    expect(world.resolved).toEqual([]);
    answer.resolve("once");
    expect(await Promise.all(opening)).toEqual([null, null, null]);
    expect(asked).toBe(1);
  });

  it("is denied when nobody answers, and the question is taken back", async () => {
    let late: AbortSignal | undefined;
    const gateway = world.gateway(allowlist(), {
      limits: { askMs: 20 },
      ask: ({ signal }) => {
        late = signal;
        return new Promise(() => {});
      },
    });
    expect((await world.refusal(gateway, target)).message).toMatch(/nobody answered/);
    expect(late?.aborted).toBe(true);
  });

  it("is denied when asking fails, or too many questions are open", async () => {
    const failing = world.gateway(allowlist(), { ask: () => Promise.reject(new Error("no terminal")) });
    expect((await world.refusal(failing, target)).message).toMatch(/no terminal/);
    const full = world.gateway(allowlist(), { limits: { questions: 0 }, ask });
    expect((await world.refusal(full, target)).message).toMatch(/too many questions/);
  });

  it("still may not lead to an address that is not public", async () => {
    world.names.set("new.example", ["10.0.0.1"]);
    answers = ["sandbox"];
    const { message } = await world.refusal(world.gateway(allowlist(), { ask }), target);
    expect(message).toMatch(/it resolves to an address that is not allowed/);
    expect((await world.decision((one) => one.verdict === "denied")).rule).toMatch(/private network/);
  });
});

it("what is denied by a rule, private, malformed or off is never asked for", async () => {
  const denying = world.gateway({ egress: "allowlist", allow: [], deny: [{ domain: "new.example" }] }, { ask });
  await world.refusal(denying, target);
  expect(await denying.lookup("new.example")).toMatchObject({ code: "denied" });
  await world.refusal(denying, { kind: "address", address: "10.0.0.1", port: 80 });
  await world.refusal(denying, { ...target, name: "a b" });
  await world.refusal(world.gateway(nothing, { ask }), target);
  expect(questions).toEqual([]);
});

describe("while nobody is there to be asked", () => {
  it("what no rule covers is denied, also by name, and no question is put", async () => {
    const gateway = world.gateway(allowlist(), { ask, mayAsk: () => false });
    expect((await world.refusal(gateway, target)).message).not.toMatch(/question/);
    expect(await gateway.lookup("new.example")).toMatchObject({ code: "denied" });
    expect(questions).toEqual([]);
  });

  it("an answer for the whole sandbox still holds", async () => {
    let isThere = true;
    answers = ["sandbox"];
    const gateway = world.gateway(allowlist(), { ask, mayAsk: () => isThere });
    await world.client(gateway, target);
    isThere = false;
    expect(await gateway.lookup("new.example")).toMatchObject({ ipv4: true });
    expect(await gateway.lookup("other.example")).toMatchObject({ code: "denied" });
    expect(questions).toHaveLength(1);
  });
});
