/* without-nf-tables PROGRAM ARGS…: runs it on a kernel without nf_tables, as far as it can see. */
#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)

int main(int argc, char **argv) {
	struct sock_filter program[] = {
		LOAD(nr), UNLESS(SYS_socket, 5),
		LOAD(args[0]), UNLESS(AF_NETLINK, 3),
		LOAD(args[2]), UNLESS(NETLINK_NETFILTER, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof program / sizeof *program, program};
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 126;
	execv(argv[1], argv + 1);
	return 127;
}
