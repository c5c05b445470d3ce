/** Every figure there is, each under the name that SPECIFICATION.md uses. */
import { execBesideAll, firstByte, runBesideAll } from "./beside-all.mjs";
import { besideBombs } from "./beside-bombs.mjs";
import { burst } from "./burst.mjs";
import { codeCall, codeStart, codeTasks } from "./code-mode.mjs";
import { coldRun } from "./cold-run.mjs";
import { createUseDestroy } from "./create-use-destroy.mjs";
import { daemonIdle, warmMemory } from "./daemon-idle.mjs";
import { daemonRun } from "./daemon-run.mjs";
import { density } from "./density.mjs";
import { dockerExec, dockerRun, dockerThroughput } from "./docker.mjs";
import { dockerCold, dockerGigabyte, dockerProject, dockerWarm } from "./docker-backend.mjs";
import { egressBulk, egressBulkSrt } from "./egress-bulk.mjs";
import { egressConnect } from "./egress-connect.mjs";
import { growth } from "./growth.mjs";
import { gvisorWarm } from "./gvisor.mjs";
import { httpExec, httpRun } from "./http.mjs";
import { idleMemory } from "./idle-memory.mjs";
import { imagePull } from "./image-pull.mjs";
import { imagePageCache, imageStart } from "./image-start.mjs";
import { jailStart } from "./jail-start.mjs";
import { mcpInitialize, mcpRun } from "./mcp.mjs";
import { microvmDocker, microvmMemory, microvmRestore, microvmShutdown } from "./microvm.mjs";
import { parallel } from "./parallel.mjs";
import { projectCopy } from "./project-copy.mjs";
import { soak } from "./soak.mjs";
import { stdoutGigabyte, stdoutGrowth } from "./stdout-gigabyte.mjs";
import { atOnce, inSequence } from "./throughput.mjs";
import { versionAnswer } from "./version-answer.mjs";
import { checkoutRun, warmRun, warmRunTail } from "./warm-run.mjs";
import { warmSize } from "./warm-size.mjs";
import { wasmCall, wasmCold, wasmFirst, wasmInstance, wasmThroughput, wasmWorker } from "./wasm.mjs";
import { writeExec } from "./write-exec.mjs";

export const figures = [
  jailStart,
  coldRun,
  daemonRun,
  warmRun,
  warmRunTail,
  checkoutRun,
  soak,
  burst,
  writeExec,
  warmMemory,
  daemonIdle,
  httpRun,
  httpExec,
  mcpInitialize,
  mcpRun,
  codeCall,
  codeStart,
  codeTasks,
  stdoutGigabyte,
  stdoutGrowth,
  idleMemory,
  projectCopy,
  warmSize,
  atOnce,
  inSequence,
  imagePull,
  imageStart,
  imagePageCache,
  egressBulk,
  egressBulkSrt,
  egressConnect,
  versionAnswer,
  dockerRun,
  dockerThroughput,
  dockerExec,
  runBesideAll,
  firstByte,
  execBesideAll,
  createUseDestroy,
  parallel,
  density,
  besideBombs,
  growth,
  gvisorWarm,
  dockerWarm,
  dockerCold,
  dockerProject,
  dockerGigabyte,
  microvmRestore,
  microvmDocker,
  microvmShutdown,
  microvmMemory,
  wasmInstance,
  wasmCall,
  wasmThroughput,
  wasmWorker,
  wasmFirst,
  wasmCold,
];
