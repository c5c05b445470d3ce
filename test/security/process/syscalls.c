/*
 * Tries each forbidden system call once and prints "name errno" (0: it succeeded). The arguments are such that the
 * call does no harm where it is allowed: the kernel refuses them later, with another errno than EPERM or ENOSYS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD 0x40000000L
#define HIGH (1L << 32)

static void say(const char *name, long result) {
	printf("%s %d\n", name, result < 0 ? errno : 0);
	fflush(stdout);
}

/* In a child, because success would change the caller. */
#define APART(name, call)                         \
	do {                                          \
		fflush(stdout);                           \
		pid_t child = fork();                     \
		if (child == 0) {                         \
			say(name, call);                      \
			_exit(0);                             \
		}                                         \
		waitpid(child, NULL, 0);                  \
	} while (0)

static void clone_with(const char *name, unsigned long flags) {
	fflush(stdout);
	long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) _exit(0);
	say(name, child);
	if (child > 0) waitpid(child, NULL, 0);
}

static void namespaces(void) {
	static const struct {
		const char *name;
		unsigned long flag;
	} kinds[] = {
		{"newns", CLONE_NEWNS},   {"newuser", CLONE_NEWUSER}, {"newpid", CLONE_NEWPID},       {"newnet", CLONE_NEWNET},
		{"newipc", CLONE_NEWIPC}, {"newuts", CLONE_NEWUTS},   {"newcgroup", CLONE_NEWCGROUP},
	};
	char name[64];
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		/* Each alone needs privilege, together with a user namespace none does. */
		unsigned long flag = kinds[i].flag | CLONE_NEWUSER;
		snprintf(name, sizeof name, "unshare:%s", kinds[i].name);
		APART(name, syscall(SYS_unshare, flag));
		snprintf(name, sizeof name, "clone:%s", kinds[i].name);
		clone_with(name, flag);
	}
	APART("unshare:newuser-alone", syscall(SYS_unshare, CLONE_NEWUSER));
	APART("unshare:newtime", syscall(SYS_unshare, 0x80 | CLONE_NEWUSER));
	APART("unshare:high-bits", syscall(SYS_unshare, CLONE_NEWUSER | HIGH));
	APART("setns", syscall(SYS_setns, -1, 0));
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	fflush(stdout);
	long child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) _exit(0);
	say("clone3", child);
	if (child > 0) waitpid(child, NULL, 0);
	args.flags = 0;
	child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) _exit(0);
	say("clone3:plain", child);
	if (child > 0) waitpid(child, NULL, 0);
}

static void mounts(void) {
	say("mount", syscall(SYS_mount, "none", NULL, "tmpfs", 0, NULL));
	say("umount2", syscall(SYS_umount2, "/nonexistent", 0xffff));
	say("pivot_root", syscall(SYS_pivot_root, NULL, NULL));
	say("open_tree", syscall(SYS_open_tree, -1, "", 0));
	say("move_mount", syscall(SYS_move_mount, -1, "x", -1, "x", 0));
	say("fsopen", syscall(SYS_fsopen, NULL, 0));
	say("fsconfig", syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0));
	say("fsmount", syscall(SYS_fsmount, -1, 0, 0));
	say("fspick", syscall(SYS_fspick, -1, "x", 0));
	say("mount_setattr", syscall(SYS_mount_setattr, -1, "", BAD, NULL, 0));
	say("swapon", syscall(SYS_swapon, "/nonexistent", BAD));
	say("swapoff", syscall(SYS_swapoff, NULL));
	say("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, NULL, 0));
	say("quotactl", syscall(SYS_quotactl, 0x80000700, NULL, 0, NULL));
	say("quotactl_fd", syscall(SYS_quotactl_fd, -1, 0x80000700, 0, NULL));
	say("acct", syscall(SYS_acct, "/nonexistent/file"));
	say("fanotify_init", syscall(SYS_fanotify_init, BAD, 0));
}

static void kernel_parts(void) {
	char attributes[8] = {0};
	say("bpf", syscall(SYS_bpf, 0xffff, attributes, sizeof attributes));
	say("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	say("keyctl", syscall(SYS_keyctl, 0xffff, 0, 0, 0, 0));
	say("keyctl:session", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
	say("add_key", syscall(SYS_add_key, NULL, NULL, NULL, 0, 0));
	say("request_key", syscall(SYS_request_key, NULL, NULL, NULL, 0));
	say("userfaultfd", syscall(SYS_userfaultfd, 1 | 0x100));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
	say("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	say("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
	say("kexec_load", syscall(SYS_kexec_load, 0, 1000, NULL, 0xff00));
	say("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0xff00));
	say("init_module", syscall(SYS_init_module, NULL, 0, ""));
	say("finit_module", syscall(SYS_finit_module, -1, "", BAD));
	say("delete_module", syscall(SYS_delete_module, NULL, O_NONBLOCK));
	say("reboot", syscall(SYS_reboot, 1, 2, 3, NULL));
	say("syslog", syscall(SYS_syslog, 10, NULL, 0));
	struct { long a, b; } never = {-1, -1};
	say("settimeofday", syscall(SYS_settimeofday, &never, NULL));
	say("clock_settime", syscall(SYS_clock_settime, 0, NULL));
	say("clock_adjtime", syscall(SYS_clock_adjtime, 0, NULL));
	say("adjtimex", syscall(SYS_adjtimex, NULL));
	say("sethostname", syscall(SYS_sethostname, "x", -1));
	APART("personality", syscall(SYS_personality, 0x0400000));
	APART("personality:high-bits", syscall(SYS_personality, 0x0400000 | HIGH));
	say("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
	say("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 99, 0, 0));
	say("memfd_secret", syscall(447, BAD));
}

static void terminals(void) {
	say("ioctl:TIOCSTI", syscall(SYS_ioctl, -1, 0x5412L, "x"));
	say("ioctl:TIOCSTI:high-bits", syscall(SYS_ioctl, -1, 0x5412L | HIGH, "x"));
	say("ioctl:TIOCLINUX", syscall(SYS_ioctl, -1, 0x541CL, "x"));
	say("ioctl:TIOCSETD", syscall(SYS_ioctl, -1, 0x5423L, "x"));
}

/* Numbers past the newest one that the filter knows. */
static void newer(void) {
	char name[32];
	for (long number = 463; number <= 470; number++) {
		snprintf(name, sizeof name, "newer:%ld", number);
		say(name, syscall(number, -1, NULL, -1, NULL, 0, 0));
	}
}

#ifdef __x86_64__
static sigjmp_buf without_table;

static void on_fault(int signal) {
	siglongjmp(without_table, signal);
}

/* By number, with zeros, of the i386 table. A kernel that was built without it has no answer but a signal. */
static void say_i386(const char *name, long number) {
	volatile long result = -ENOSYS;
	signal(SIGSEGV, on_fault);
	if (sigsetjmp(without_table, 1) == 0) {
		long answer;
		__asm__ volatile("int $0x80"
		                 : "=a"(answer)
		                 : "a"(number), "b"(0L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
		                 : "memory", "r8", "r9", "r10", "r11");
		result = answer;
	}
	signal(SIGSEGV, SIG_DFL);
	errno = result < 0 ? (int)-result : 0;
	say(name, result < 0 ? -1 : 0);
}
#endif

static void other_tables(void) {
#ifdef __x86_64__
	say("x32:getpid", syscall(0x40000000L | SYS_getpid));
	say("x32:mount", syscall(0x40000000L | SYS_mount, "none", NULL, "tmpfs", 0, NULL));
	say_i386("i386:getpid", 20);
	say_i386("i386:mount", 21);
#endif
}

/* What only the strict list forbids. */
static void strict(void) {
	struct iovec local = {0}, remote = {0};
	say("strict:ptrace", syscall(SYS_ptrace, 0xffff, getpid(), 0, 0));
	say("strict:process_vm_readv", syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0));
	say("strict:process_vm_writev", syscall(SYS_process_vm_writev, getpid(), &local, 1, &remote, 1, 0));
	say("strict:chroot", syscall(SYS_chroot, "/nonexistent"));
}

int main(void) {
	namespaces();
	mounts();
	kernel_parts();
	terminals();
	newer();
	other_tables();
	strict();
	return 0;
}
