/** THREAT_MODEL.md gives numbers where it says "bounded": each is the one that the code has. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { smallCeiling } from "../../src/api/auth/key-ceiling.js";
import { MOST_NEWCOMERS } from "../../src/api/http/newcomers.js";
import { usualLimits } from "../../src/api/index.js";
import { usualLimits as usualCallLimits } from "../../src/codemode/calls/policy.js";
import { defaultLimits } from "../../src/egress/limits.js";
import * as frame from "../../src/guest/frame.js";
import { LAYER_LIMITS } from "../../src/images/unpack/limits.js";
import { defaultFields } from "../../src/policy/defaults.js";

const page = readFileSync("THREAT_MODEL.md", "utf8");
const whole = (count: number) => count.toLocaleString("en-US");
const mebi = (bytes: number) => (bytes >= 2 ** 30 ? `${bytes / 2 ** 30} GiB` : `${bytes / 2 ** 20} MiB`);
const kibi = (bytes: number) => `${bytes / 2 ** 10} KiB`;

test.each([
  [
    "a sandbox of which nobody says anything",
    `at least ${mebi(defaultFields["resources.memoryMiB"] * 2 ** 20)} of memory (all where it has less; ${mebi(defaultFields["resources.memoryMiB"] * 2 ** 20)} in a virtual machine), ${defaultFields["resources.pids"]} processes, ${mebi(defaultFields["resources.diskMiB"] * 2 ** 20)} of disk, ${defaultFields["resources.openFiles"]} open files`,
  ],
  [
    "a key without the scope `admin`",
    `else ${smallCeiling.vcpus} cores, ${mebi(smallCeiling.memoryMiB * 2 ** 20)} of memory, ${smallCeiling.pids} processes, ${mebi(smallCeiling.diskMiB * 2 ** 20)} of disk, ${smallCeiling.openFiles} open files, ${smallCeiling.timeoutMs / 3_600_000} hour a command, no network, no directory; 10 sandboxes and ${usualLimits.places} commands at once, ${whole(usualLimits.requestsPerMinute)} requests a minute`,
  ],
  [
    "callers over HTTP",
    `bodies of ${mebi(usualLimits.maxBodyBytes)} and 32 levels, heads of 16 KiB within 10 s, 4096 connections, of them ${MOST_NEWCOMERS} from callers that are not known yet; ${usualLimits.mostWaiting} waiting commands of each; held output ${mebi(usualLimits.callerOutputBytes)} of one and ${mebi(usualLimits.outputBytes)} of all`,
  ],
  [
    "a guest's protocol",
    `messages of ${kibi(frame.MAX_GUEST_JSON_BYTES)}, data of ${kibi(frame.MAX_DATA_BYTES)} a frame, ${frame.MAX_GUEST_CHANNELS} channels that it opens, ${frame.MAX_HOST_CHANNELS} that the host opens, ${mebi(frame.MAX_WINDOW_BYTES)} of unread data a stream`,
  ],
  [
    "a sandbox's gateway",
    `${defaultLimits.connections} connections, ${defaultLimits.halfOpenDials} dials and ${defaultLimits.lookups} lookups at once; heads and ClientHellos of ${kibi(defaultLimits.headBytes)}, ${mebi(defaultLimits.heldBytes)} of unfinished ones, within ${defaultLimits.handshakeMs / 1000} s; ${defaultLimits.questions} questions`,
  ],
  ["a layer of an image", `${mebi(LAYER_LIMITS.maxBytes)}, ${whole(LAYER_LIMITS.maxEntries)} entries`],
  [
    "calls of a code mode program",
    `${usualCallLimits.calls} in all, ${usualCallLimits.atOnce} at once, arguments of ${mebi(usualCallLimits.argumentBytes)}, a result of ${mebi(usualCallLimits.oneResultBytes)}, ${mebi(usualCallLimits.resultBytes)} of results`,
  ],
])("%s", (what, bound) => {
  const row = page.split("\n").find((line) => line.startsWith(`| ${what} |`));
  expect(row).toContain(bound);
});
