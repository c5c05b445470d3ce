/**
 * Owns images: references, the registry client, the store on disk, and pulling. What comes from a registry is checked
 * against its digest before anything uses it. It decides nothing about which image is wanted (src/detect), and never
 * unpacks a layer in this process: that is the native jail's work.
 */
export { type Digest, digestOf, isDigest, shortDigest } from "./digest.js";
export { type ImageConfig, parseImageConfig } from "./image-config.js";
export type { BlobDescriptor, LayerDescriptor } from "./manifest.js";
export { hostPlatform, type Platform, platformText } from "./platform.js";
export { type LayerProgress, type Pulled, type PullOptions, pull } from "./pull.js";
export { canonicalForm, familiarForm, type ImageReference, parseReference } from "./reference.js";
export type { CredentialSource, Credentials } from "./registry/credentials.js";
export { dockerConfigCredentials, dockerConfigPath } from "./registry/docker-config.js";
export type { Mirrors } from "./registry/endpoint.js";
export { type Cleared, type ImageRecord, ImageStore, type ListedImage, type Pin } from "./store/index.js";
