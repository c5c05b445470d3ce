import { describe, expect, it } from "vitest";
import { EgressFailure } from "../failure.js";
import { parseHosts } from "./hosts-file.js";
import { fullNames, parseSearchList } from "./search-list.js";
import { firstFound } from "./system.js";

describe("a hosts file", () => {
  it("gives each name its addresses, whatever the case, the spaces and the comments", () => {
    const names = parseHosts(
      "# 9.9.9.9 no\n127.0.0.1\tlocalhost  Box # home\n::1 localhost\n10.0.0.1 box\nnonsense x\n\n",
    );
    expect(Object.fromEntries(names)).toEqual({ localhost: ["127.0.0.1", "::1"], box: ["127.0.0.1", "10.0.0.1"] });
  });
});

describe("a search list", () => {
  it("has the last line that names one, and the dots that make a name full", () => {
    const text =
      "nameserver 10.0.0.1\ndomain old.example\nsearch a.example b.example. ; no\noptions rotate ndots:3 timeout:1\n";
    expect(parseSearchList(text)).toEqual({ domains: ["a.example", "b.example"], dots: 3 });
    expect(parseSearchList("nameserver 10.0.0.1")).toEqual({ domains: [], dots: 1 });
  });

  it("is tried before a short name, and after a full one", () => {
    const list = { domains: ["a.example"], dots: 2 };
    expect(fullNames("db.team", list)).toEqual(["db.team.a.example", "db.team"]);
    expect(fullNames("www.db.team", list)).toEqual(["www.db.team", "www.db.team.a.example"]);
    expect(fullNames("box", { domains: [], dots: 1 })).toEqual(["box"]);
  });

  it("goes on behind a domain without answers, and never behind the name itself", async () => {
    const asked: string[] = [];
    const ask = (answers: Readonly<Record<string, readonly string[]>>) => async (full: string) => {
      asked.push(full);
      const addresses = answers[full];
      if (addresses === undefined) throw new EgressFailure("failed", full);
      return { addresses };
    };
    const all = ["db.a.example", "db.b.example", "db"];
    expect(await firstFound("db", all, ask({ db: ["192.0.2.1"], "db.b.example": [] }))).toEqual({
      addresses: ["192.0.2.1"],
    });
    expect(asked).toEqual(all);
    await expect(firstFound("db", all, ask({ "db.b.example": [], db: [] }))).rejects.toThrow("db.a.example");
    await expect(firstFound("db", ["db", "db.a.example"], ask({ "db.a.example": ["192.0.2.1"] }))).rejects.toThrow(
      "db",
    );
  });
});
