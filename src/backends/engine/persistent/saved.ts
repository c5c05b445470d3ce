/**
 * What is written down of a copy in its state folder, until it is started: which image the engine has of it, and what was
 * known of the container that it was made of. Copies of one copy share its image.
 */
import { randomBytes } from "node:crypto";
import type { EngineKind } from "../../../core/engine-socket.js";
import { readJson, writeJson } from "../../entry/state-file.js";
import type { ContainerRecord } from "./record.js";

export interface SavedCopy {
  readonly engine: EngineKind;
  /** The image's label; it is written down before there is an image. */
  readonly token: string;
  /** This folder's own name among those that need the image. */
  readonly holder: string;
  /** The image's id; null while it is made. */
  readonly image: string | null;
  /** Of the container: whether its project lies in it, is carried over when it stops, and has been. */
  readonly known: Pick<ContainerRecord, "isFilled" | "isCarried" | "isSynced">;
}

const SAVED = "saved.json";

export function readSaved(stateDir: string): SavedCopy | null {
  return readJson(stateDir, SAVED) as SavedCopy | null;
}

export function writeSaved(stateDir: string, saved: SavedCopy): void {
  writeJson(stateDir, SAVED, saved);
}

export function newName(): string {
  return randomBytes(12).toString("hex");
}
