import { chownSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../support/actors.js";
import { attackInside, attackOutside } from "../support/fs-attack.js";

const OWNER = 4711;

/** Gives new files away to others. */
const giveAway = `
for uid in (0, 33, 65534):
    def give(uid=uid):
        write(f"of-{uid}")
        os.chown(f"of-{uid}", uid, uid)
        return os.stat(f"of-{uid}").st_uid
    attempt(str(uid), give)
`;

// Only root can give files away, so only root's sandboxes could.
describe.runIf(root !== undefined)("F2 files for other users of the host, from a live project", () => {
  it.each([
    ["--workspace", "mount"],
    ["-v", "writable"],
  ])("%s %s", async (...words) => {
    if (root === undefined) return;
    const outside = root.folder();
    expect(await attackOutside(root, { source: giveAway, cwd: outside })).toMatchObject({ "33": { ok: "33" } });
    expect(lstatSync(join(outside, "of-33")).uid).toBe(33);

    const project = root.folder();
    chownSync(project, OWNER, OWNER);
    const isMount = words[0] === "-v";
    const flags = isMount ? ["-v", `${project}:/live`, "-w", "/live"] : words;
    const inside = await attackInside(root, { source: giveAway, cwd: isMount ? outside : project, flags });
    // Its own root is the owner of the project; nobody else exists in there.
    expect(inside["0"]).toEqual({ ok: "0" });
    for (const uid of ["33", "65534"]) expect(inside[uid]).toHaveProperty("error");
    for (const name of ["of-0", "of-33", "of-65534"]) expect(lstatSync(join(project, name)).uid).toBe(OWNER);
  });
});
