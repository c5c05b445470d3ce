/** What our jail is compared with: the usual way to make an unprivileged sandbox, doing as little as it can. */
export const bwrapTrue = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"];
