/** Files that virtual machines are made from. A backend does not know who makes them or where they lie. */
import type { ImageSource } from "../../core/backend.js";

export interface KernelFiles {
  /** Readable for everyone: monitors open them under ids of their own. */
  readonly kernel: string;
  readonly initramfs: string;
  /** Whether the kernel finds its devices by ACPI. */
  readonly acpi: boolean;
  readonly commandLine: string;
  /** Whether it can show a project without a copy of it. */
  readonly hasFuse: boolean;
  /** Of both files, and of what the kernel is told. */
  readonly digest: string;
}

export interface RootFile {
  /** An image of a filesystem that nobody writes. */
  readonly path: string;
  readonly digest: string;
}

export interface MachineFiles {
  kernel(): Promise<KernelFiles>;
  root(image: ImageSource, signal?: AbortSignal): Promise<RootFile>;
}
