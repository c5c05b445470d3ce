import { afterEach, beforeEach, expect, it } from "vitest";
import { ScriptedRegistry } from "../../../test/support/registry-scripted.js";
import { defaultTimeouts, Exchanger } from "./exchange.js";

let registry: ScriptedRegistry;
let exchanger: Exchanger;
beforeEach(async () => {
  registry = await ScriptedRegistry.start();
  exchanger = new Exchanger(defaultTimeouts);
});
afterEach(async () => {
  exchanger.close();
  await registry.stop();
});

const send = (host: string, rule: "any" | "outside" | "here") =>
  exchanger.send({ method: "GET", url: new URL(`http://${host}:${registry.port}/v2/`), headers: {}, rule });

it.each(["localhost", "127.0.0.1"])("%s is not dialled where only public addresses may be", async (host) => {
  await expect(send(host, "outside")).rejects.toMatchObject({ fault: "address-refused" });
  expect(registry.seen).toEqual([]);
});

it.each(["localhost", "127.0.0.1"])("%s is dialled where loopback may be", async (host) => {
  expect((await send(host, "here")).status).toBe(200);
});
