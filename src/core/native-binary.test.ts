import { describe, expect, it } from "vitest";
import { packageFolders } from "./native-binary.js";

const machine = { platform: "linux", arch: "arm64" };

describe("the package with this machine's programs", () => {
  it("is looked for in our own node_modules, then in those that ours lies in", () => {
    expect(packageFolders("/p/lib/node_modules/agentkernel/dist/chunks", machine)).toEqual([
      "/p/lib/node_modules/agentkernel/node_modules/@agentkernel/linux-arm64/bin",
      "/p/lib/node_modules/@agentkernel/linux-arm64/bin",
    ]);
  });

  it("is looked for beside ours where packages nest, and never in a folder that anybody may make", () => {
    const found = packageFolders("/tmp/app/node_modules/other/node_modules/agentkernel/dist", machine);
    expect(found).toContain("/tmp/app/node_modules/@agentkernel/linux-arm64/bin");
    expect(found.every((path) => path.startsWith("/tmp/app/node_modules/"))).toBe(true);
    expect(packageFolders("/opt/agentkernel/dist/chunks", machine)).toEqual([]);
  });
});
