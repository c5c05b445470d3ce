import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { compare, interleaved } from "../measure.mjs";
import { BULK_PORT, joinedNetworks } from "../networks.mjs";
import { srt } from "../srt.mjs";

const BYTES = 1_000_000_000;
const run = promisify(execFile);

/**
 * One transfer as curl itself times it, from its connect to the last byte: what starting a sandbox takes is another
 * figure. Where it is not told to use a proxy it uses none, whatever the environment says.
 */
async function transfer(argv, emptyProject) {
  const [program, ...rest] = argv;
  const { stdout } = await run(program, rest, { cwd: emptyProject });
  const [, seconds, bytes] = /time=([\d.]+) bytes=(\d+)/.exec(stdout) ?? [];
  if (Number(bytes) !== BYTES) throw new Error(`${argv.join(" ")} transferred ${bytes} bytes of ${BYTES}`);
  return { wallMs: Number(seconds) * 1000, cpuMs: 0 };
}

function curl(address, ...options) {
  const url = `http://${address}:${BULK_PORT}/${BYTES}`;
  return ["curl", "-s", ...options, "-o", "/dev/null", "-w", "time=%{time_total} bytes=%{size_download}", url];
}

async function subjects({ folder, cli, emptyProject }) {
  const { address, inside } = await joinedNetworks(folder);
  const direct = curl(address, "--noproxy", "*");
  return {
    address,
    ours: () => transfer([...inside, cli, "run", "--image", "host", "--", ...direct], emptyProject),
    direct: () => transfer([...inside, ...direct], emptyProject),
    srt: () => {
      const words = curl(address).map((word) => `'${word}'`);
      return transfer([...inside, ...srt(folder, address), words.join(" ")], emptyProject);
    },
  };
}

export const egressBulk = {
  name: "egress-bulk",
  promise: "1 GB downloaded through capture and gateway, against the same with no sandbox",
  limit: { ratio: 2.5 },
  async run(context, quick) {
    const { ours, direct } = await subjects(context);
    const samples = await interleaved({ ours, direct }, { rounds: quick ? 5 : 15, warmUps: 1 });
    return compareWall(samples.ours, samples.direct);
  },
};

export const egressBulkSrt = {
  name: "egress-bulk-srt",
  promise: "1 GB downloaded through capture and gateway, against the same through srt's proxy",
  limit: { ratio: 0.5 },
  async run(context, quick) {
    const { ours, srt: theirs } = await subjects(context);
    const samples = await interleaved({ ours, theirs }, { rounds: quick ? 2 : 5, warmUps: 0 });
    return compareWall(samples.ours, samples.theirs);
  },
};

/** curl's clock says nothing about processor time. */
function compareWall(subject, reference) {
  const { ratio, ratios, ...sides } = compare(subject, reference);
  return { ratio, ratios: { p95: ratios.p95, min: ratios.min, cpu: null }, ...sides };
}
