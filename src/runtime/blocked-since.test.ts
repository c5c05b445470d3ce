import { expect, it } from "vitest";
import { blockedSince } from "./blocked-since.js";
import type { Blocked } from "./sandbox-egress.js";

const blocked = (host: string, times: number): Blocked => ({ host, port: 443, rule: "no rule allows it", times });

it("a command is told what was refused while it ran, and nothing of commands before it", () => {
  const port = { blocked: [blocked("a.example", 2), blocked("b.example", 1)] };
  const since = blockedSince(port);
  expect(since()).toEqual([]);
  port.blocked = [blocked("a.example", 5), blocked("b.example", 1), blocked("c.example", 1)];
  expect(since()).toEqual([blocked("a.example", 3), blocked("c.example", 1)]);
});
