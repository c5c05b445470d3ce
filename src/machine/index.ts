/**
 * Owns what virtual machines are started from, beside an image: kernels, and the first filesystem with our own
 * programs. It starts nothing, and knows nothing of policies. Root images are the image store's (src/images).
 */
export { fetchDebianKernel, placeKernelSet } from "./debian-kernel.js";
export { ensureInitramfs, type Initramfs } from "./initramfs.js";
export { findKernelSet, type KernelSet, readKernelSet, type SetName, verifyKernelSet } from "./kernel-set.js";
