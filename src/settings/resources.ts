/** What a sandbox may use of the machine. */
import { numeric } from "./numeric-setting.js";
import { cores, count, mebibytes } from "./quantity.js";

const GIB = 1024;
const TIB = 1024 * GIB;
const MOST_PIDS = 32_768;

/** Guest, keeper and the command's own first process: what a sandbox needs before anything forks. */
const PROCESSES_BEFORE_FORKS = 3;

export const resourceSettings = {
  "resources.vcpus": numeric({
    quantity: cores,
    min: 0.1,
    max: 256,
    default: 2,
    flag: "vcpus",
    key: "vcpus",
    policyFile: { path: "proc.cpu_quota", form: "number", help: "Processor cores." },
    keyCeiling: 2,
    help: "processor cores",
    example: "1.5",
    summary: "cores",
    capability: "limit-cpu",
  }),
  "resources.memoryMiB": numeric({
    quantity: mebibytes,
    min: 16,
    max: TIB,
    default: 2 * GIB,
    machineShare: { of: "memoryMiB", share: 0.5, step: GIB, text: "half of the machine's" },
    flag: "memory",
    key: "memory_mb",
    policyFile: { path: "proc.mem_limit", form: "text", help: "Memory, for example 512m or 1g." },
    keyCeiling: GIB,
    help: "memory",
    example: "512m or 1.5g",
    summary: "of memory",
    capability: "limit-memory",
  }),
  "resources.pids": numeric({
    quantity: count,
    min: 1,
    max: MOST_PIDS,
    default: 4096,
    flag: "pids",
    key: "pids",
    policyFile: {
      path: "proc.fork_limit",
      form: "number",
      help: "Processes and threads beside the command's first; 0: none.",
      least: 0,
      toValue: (forks) => Math.min(forks + PROCESSES_BEFORE_FORKS, MOST_PIDS),
    },
    keyCeiling: 512,
    help: "processes and threads at once",
    example: "512",
    summary: "processes",
    capability: "limit-processes",
  }),
  "resources.diskMiB": numeric({
    quantity: mebibytes,
    min: 1,
    max: 16 * TIB,
    default: 4 * GIB,
    flag: "disk",
    key: "disk_mb",
    keyCeiling: 4 * GIB,
    help: "what may be written",
    example: "4g",
    summary: "of disk",
    capability: "limit-disk",
  }),
  "resources.openFiles": numeric({
    quantity: count,
    // With fewer a captured network cannot be set up.
    min: 64,
    max: 1_048_576,
    default: 4096,
    flag: "open-files",
    key: "open_files",
    keyCeiling: 4096,
    help: "open files of one process",
    example: "4096",
    summary: "open files",
    capability: "limit-open-files",
  }),
  "resources.outputMiB": numeric({
    quantity: mebibytes,
    min: 1,
    max: 256,
    default: 16,
    policyFile: {
      path: "proc.output_limit",
      form: "text",
      help: "What batch answers keep of a command's output; streams are not cut.",
    },
    help: "what a batch answer keeps of a command's output",
    example: "16m",
    summary: "of output",
  }),
};
