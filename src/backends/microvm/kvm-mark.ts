import { statSync } from "node:fs";
import { release } from "node:os";

/** Identifies this user's access to KVM: the device as it is, and the groups that count for it. */
export function kvmMark(): string {
  const device = statSync("/dev/kvm", { throwIfNoEntry: false });
  if (device === undefined) return "no /dev/kvm";
  const { rdev, mode, uid, gid } = device;
  const groups = process.getgroups?.() ?? [];
  return [release(), rdev, mode, uid, gid, ...groups].join(":");
}
