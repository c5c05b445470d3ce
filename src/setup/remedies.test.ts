import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Check } from "../doctor/index.js";
import { type MachineFacts, remediesFor, sameRepair, systemsIn } from "./remedies.js";

const debian: MachineFacts = {
  systems: ["debian"],
  userName: "ada",
  isRoot: false,
  namespaceMakers: ["/opt/it's {mine}/ak-jail", "/opt/ak-probe"],
};

function failing(name: Check["name"], nextStep: string): Check {
  return { name, state: "fails", detail: "it does not work", nextStep, ms: 1 };
}

function commands(name: Check["name"], nextStep: string, facts = debian): readonly string[] {
  return remediesFor([failing(name, nextStep)], facts)[0]?.commands ?? [];
}

/** Every text in the probe's sources. */
function probeTexts(): readonly string[] {
  const folder = "native/probe/src";
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".rs"));
  return sources.flatMap((name) =>
    [...readFileSync(join(folder, name), "utf8").matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map((found) => found[1] ?? ""),
  );
}

describe("what repairs a layer", () => {
  it("is asked for only where something fails", () => {
    const works: Check = { name: "userns", state: "works", detail: "", nextStep: null, ms: 1 };
    const unneeded: Check = { name: "idmap", state: "not-needed", detail: "", nextStep: null, ms: 1 };
    expect(remediesFor([works, unneeded], debian)).toEqual([]);
  });

  it("is told and done once where it repairs several", () => {
    const hint = "user.max_user_namespaces is 0: run `sysctl -w user.max_user_namespaces=15000` as root";
    const found = remediesFor([failing("userns", hint), failing("kvm", "none"), failing("netns", hint)], debian);
    const layers = sameRepair(found).map((group) => group.map(({ layer }) => layer));
    expect(layers).toEqual([["userns", "netns"], ["kvm"]]);
  });

  it("is every command that the probe's own hints name, now and after a restart", () => {
    const hints = probeTexts().filter((text) => /`(sysctl -w|modprobe|usermod) /.test(text));
    expect(hints.length).toBeGreaterThanOrEqual(5);
    for (const hint of hints) expect(commands("userns", hint), hint).not.toEqual([]);
    const one = hints.find((hint) => hint.includes("max_user_namespaces=15000")) ?? "";
    expect(commands("userns", one)).toEqual([
      "sysctl -w user.max_user_namespaces=15000",
      "echo 'user.max_user_namespaces=15000' >> /etc/sysctl.d/60-agentkernel.conf",
    ]);
    const modules = hints.find((hint) => hint.includes("nft_redir")) ?? "";
    expect(commands("redirect", modules)[0]).toBe("modprobe -a nf_tables nft_chain_nat nft_redir nft_reject_inet");
  });

  it("is a profile of our own programs alone where AppArmor restricts user namespaces", () => {
    const hint = probeTexts().find((text) => text.startsWith("AppArmor restricts user namespaces")) ?? "";
    const [write = "", load] = commands("userns", hint);
    expect(load).toBe("apparmor_parser --replace /etc/apparmor.d/agentkernel");
    const printed = execFileSync("/bin/sh", ["-c", write.replace(/ > \S+$/, "")], { encoding: "utf8" });
    expect(printed.split("\n")).toEqual([
      "abi <abi/4.0>,",
      'profile agentkernel-ak-jail "/opt/it\'s \\{mine\\}/ak-jail" flags=(unconfined) { userns, }',
      'profile agentkernel-ak-probe "/opt/ak-probe" flags=(unconfined) { userns, }',
      "",
    ]);
  });

  it("is a package of this system, or words where the system is not known", () => {
    const install = probeTexts().find((text) => text.startsWith("install newuidmap")) ?? "";
    expect(commands("subids", install)).toEqual(["apt-get install -y uidmap"]);
    expect(commands("subids", install, { ...debian, systems: ["nobara", "fedora"] })).toEqual([
      "dnf install -y shadow-utils",
    ]);
    expect(commands("subids", install, { ...debian, systems: ["plan9"] })).toEqual([]);
  });

  it("names the user whose ids are missing, whatever the name is", () => {
    const assign = probeTexts().find((text) => text.includes("--add-subuids")) ?? "";
    expect(commands("subids", assign)).toEqual(["usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ada"]);
    expect(commands("subids", assign, { ...debian, userName: "a'; rm -rf /" })[0]).toMatch(/ 'a'\\''; rm -rf \/'$/);
    expect(commands("subids", assign, { ...debian, userName: null })).toEqual([]);
  });

  it("delegates cgroups for a user, and says only words to root", () => {
    const delegate = probeTexts().find((text) => text.includes("Delegate=cpu memory pids")) ?? "";
    expect(commands("cgroup", delegate)).toHaveLength(3);
    expect(commands("cgroup", delegate, { ...debian, isRoot: true })).toEqual([]);
  });
});

it("a system is known by its own name and by those that it is like", () => {
  expect(systemsIn('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n')).toEqual([
    "linuxmint",
    "ubuntu",
    "debian",
  ]);
});
