/*
 * guest-attack PID: everything one process can try against another, one line "name errno" for each (0: it worked).
 * guest-attack signals PID: sends every signal there is to PID and says "sent N"; then whether it still runs.
 * guest-attack everyone: SIGKILL to all that can be reached, then says "alone".
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t target;

static void say(const char *name, long result) {
	printf("%s %d\n", name, result < 0 ? errno : 0);
	fflush(stdout);
}

static const char *of(const char *name) {
	static char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", target, name);
	return path;
}

static void by_proc(void) {
	char text[64];
	say("read:mem", open(of("mem"), O_RDONLY));
	say("write:mem", open(of("mem"), O_RDWR));
	say("open:exe", open(of("exe"), O_RDONLY));
	say("link:exe", readlink(of("exe"), text, sizeof text));
	say("link:root", readlink(of("root"), text, sizeof text));
	say("open:root", open(of("root/."), O_RDONLY | O_DIRECTORY));
	say("link:cwd", readlink(of("cwd"), text, sizeof text));
	say("link:fd", readlink(of("fd/0"), text, sizeof text));
	say("open:fd0", open(of("fd/0"), O_RDONLY));
	say("link:ns", readlink(of("ns/mnt"), text, sizeof text));
	say("open:ns", open(of("ns/user"), O_RDONLY));
	int environ = open(of("environ"), O_RDONLY);
	say("read:environ", environ < 0 ? -1 : read(environ, text, sizeof text));
	int maps = open(of("maps"), O_RDONLY);
	say("read:maps", maps < 0 ? -1 : read(maps, text, sizeof text));
	int stack = open(of("syscall"), O_RDONLY);
	say("read:syscall", stack < 0 ? -1 : read(stack, text, sizeof text));
}

static void by_calls(void) {
	char bytes[8];
	/* A static program's header lies here; outside it is read from another copy of this program. */
	struct iovec local = {bytes, sizeof bytes}, remote = {(void *)0x400000, sizeof bytes};
	say("process_vm_readv", syscall(SYS_process_vm_readv, target, &local, 1, &remote, 1, 0));
	say("process_vm_writev", syscall(SYS_process_vm_writev, target, &local, 1, &remote, 1, 0));
	long pidfd = syscall(SYS_pidfd_open, target, 0);
	long stolen = syscall(SYS_pidfd_getfd, pidfd, 0, 0);
	say("pidfd_getfd", stolen);
	say("setns:pidfd", syscall(SYS_setns, pidfd, 0x10000000));
	/* Last, because a stopped target answers nothing more. */
	say("ptrace:attach", ptrace(PTRACE_ATTACH, target, 0, 0));
}

static int state_of(pid_t pid) {
	char path[64], text[512] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) return '-';
	close(fd);
	char *end = strrchr(text, ')');
	return end == NULL ? '-' : end[2];
}

static int send_all(void) {
	int sent = 0;
	long pidfd = syscall(SYS_pidfd_open, target, 0);
	for (int number = 1; number < 65; number++) {
		if (kill(target, number) == 0) sent++;
		if (syscall(SYS_tgkill, target, target, number) == 0) sent++;
		if (syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) == 0) sent++;
	}
	printf("sent %d, state %c\n", sent, state_of(target));
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 3 && !strcmp(argv[1], "signals")) {
		target = atoi(argv[2]);
		return send_all();
	}
	if (argc == 2 && !strcmp(argv[1], "everyone")) {
		kill(-1, SIGKILL);
		printf("alone\n");
		return 0;
	}
	if (argc != 2) return 2;
	target = atoi(argv[1]);
	if (target == 0) {
		/* Outside: a copy of this program that waits, as the same user. */
		target = fork();
		if (target == 0) {
			for (;;) pause();
		}
	}
	by_proc();
	by_calls();
	if (atoi(argv[1]) == 0) {
		kill(target, SIGKILL);
		waitpid(target, NULL, __WALL);
	}
	return 0;
}
