/**
 * Owns images: references, the registry client, the store on disk, pulling, importing and exporting. What comes from
 * outside is checked against its digest before anything uses it. It decides nothing about which image is wanted (src/detect), and never
 * unpacks a layer in this process: that is the native jail's work.
 */
export { DEFAULT_CEILING_BYTES, makeRoom } from "./ceiling.js";
export { type Digest, digestHex, digestOf, shortDigest } from "./digest.js";
export { type ExportFormat, exportFormats, exportImage } from "./export/index.js";
export { formatLock, type ImageLock, LOCK_FILE_NAME, lockedReference, lockKey } from "./image-lock.js";
export { importImage, parseSource } from "./import/index.js";
export { hostPlatform, platformText } from "./platform.js";
export { lockPath, readLock } from "./project-lock.js";
export { type LayerProgress, type Pulled, pull } from "./pull.js";
export { canonicalForm, familiarForm, type ImageReference, parseReference } from "./reference.js";
export { registryOptions } from "./registry-settings.js";
export { type ImageRecord, ImageStore, type ListedImage, type PinUser } from "./store/index.js";
export { type TagOptions, tagDigest } from "./tag-digest.js";
