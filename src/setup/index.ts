/**
 * src/setup owns what makes a machine ready: commands that repair what `doctor` found missing, and the file by which the
 * machine's own service manager runs agentkernel. It shows before it does, and never asks for rights that it does not
 * have.
 */
export { needsOf } from "./backend-needs.js";
export { type FileChange, makeChange, plannedRemoval, plannedWrite } from "./file-change.js";
export { type KeptFolder, keptFolders } from "./kept-folders.js";
export { lineDiff } from "./line-diff.js";
export { getKernel, kernelPlace, type MicrovmNeeds, microvmNeeds, takeKernel } from "./microvm.js";
export { checkOwnFiles, type OwnFiles } from "./own-files.js";
export { ownProgram } from "./own-program.js";
export { machineFacts, type Remedy, remediesFor, sameRepair } from "./remedies.js";
export { runLine, runRemedy } from "./run-remedy.js";
export { rivalsOf, serviceFile } from "./unit-file.js";
export { type ServiceName, serviceNames } from "./unit-names.js";
