/** Which backends can work from what was proven of single layers. Others are proven by running a sandbox. */
import type { BackendReport, Check, Weakness } from "./report.js";

/** The sandbox's own network namespace is never traded for the host's network, so it is needed too. */
const linuxNeeds: readonly Check["name"][] = ["userns", "mountns-proc", "overlay", "netns", "seccomp", "guest"];

const linuxWeaknesses: readonly Weakness[] = [
  { layer: "subids", consequence: "a sandbox has a single user id, and files of other owners show as nobody" },
  { layer: "idmap", consequence: "image layers cannot be shared between sandboxes with ids of their own" },
  { layer: "redirect", consequence: "sandboxes have no network" },
  { layer: "landlock", consequence: "the second wall for writes is missing" },
  { layer: "cgroup", consequence: "memory, processes and cpu are limited only as far as rlimits reach" },
];

export function judgeBackends(checks: readonly Check[]): readonly BackendReport[] {
  return [judgeLinux(checks)];
}

function judgeLinux(checks: readonly Check[]): BackendReport {
  const missing = linuxNeeds.filter((name) => stateOf(checks, name) !== "works");
  const weaker = linuxWeaknesses.filter(({ layer }) => stateOf(checks, layer) === "fails");
  const usable = missing.length === 0;
  const detail = usable
    ? weaker.length === 0
      ? "works with every layer"
      : `works, weaker without ${listed(weaker.map(({ layer }) => layer))}`
    : `cannot work without ${listed(missing)}`;
  return { name: "linux", usable, detail, missing, weaker };
}

function stateOf(checks: readonly Check[], name: Check["name"]): Check["state"] {
  return checks.find((check) => check.name === name)?.state ?? "fails";
}

function listed(names: readonly string[]): string {
  return names.join(", ");
}
