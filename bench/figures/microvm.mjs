import { setTimeout } from "node:timers/promises";
import { withDocker } from "../docker.mjs";
import { IDLE_MS } from "../idle-jail.mjs";
import { startedMiB, withMachines } from "../machines.mjs";
import { compare, interleaved, quantile } from "../measure.mjs";

const AT_ONCE = 20;

export const microvmRestore = {
  name: "microvm-restore",
  promise: "a virtual machine restored until its first command has ended, against one that boots, both by emulation",
  limit: { ratio: 0.125 },
  run: (context, quick) =>
    withMachines(context, async (machines) => {
      const { restored, booted } = await interleaved(
        { restored: () => machines.use(machines.restored), booted: () => machines.use(machines.booted) },
        { rounds: quick ? 3 : 10, warmUps: 1 },
      );
      return { ...compare(restored, booted), information: { kernel: machines.kernel } };
    }),
};

export const microvmDocker = {
  name: "microvm-docker",
  promise: "a virtual machine restored by emulation until its first command has ended, against `docker run` of `true`",
  limit: { ratio: 1 },
  run: (context, quick) =>
    withDocker(context, (docker) =>
      withMachines(context, async (machines) => {
        const { ours, theirs } = await interleaved(
          {
            ours: () => machines.use(machines.restored),
            theirs: () => context.stopwatch.untilExit(docker.runTrue, { cwd: context.emptyProject }),
          },
          { rounds: quick ? 5 : 20, warmUps: 2 },
        );
        return { ...compare(ours, theirs), information: { kernel: machines.kernel } };
      }),
    ),
};

export const microvmShutdown = {
  name: "microvm-shutdown",
  promise: "from asking a virtual machine to end until nothing of it is left, at the median",
  limit: { p50Ms: 50 },
  run: (context, quick) =>
    withMachines(context, async (machines) => {
      const { ended } = await interleaved(
        { ended: () => machines.use(machines.restored) },
        { rounds: quick ? 5 : 30, warmUps: 2 },
      );
      const times = ended.map(({ endMs }) => endMs);
      const subject = { p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95) };
      return { subject, information: { kernel: machines.kernel } };
    }),
};

export const microvmMemory = {
  name: "microvm-memory",
  promise: `proportional memory of ${AT_ONCE} restored virtual machines, against ${AT_ONCE} times that of one that booted`,
  limit: { ratio: 0.35 },
  run: (context) =>
    withMachines(context, async (machines) => {
      const idleMiB = async (backend, count) => {
        const all = await Promise.all(Array.from({ length: count }, () => machines.start(backend)));
        await setTimeout(IDLE_MS);
        const mib = startedMiB();
        await Promise.all(all.map((sandbox) => sandbox.finish()));
        return mib;
      };
      // Whoever holds the saved machine counts with those that share it.
      const holderMiB = startedMiB();
      const bootedMiB = (await idleMiB(machines.booted, 1)) - holderMiB;
      const restoredMiB = await idleMiB(machines.restored, AT_ONCE);
      const information = { bootedMiB, eachMiB: restoredMiB / AT_ONCE, kernel: machines.kernel };
      return { ratio: restoredMiB / (AT_ONCE * bootedMiB), information };
    }),
};
