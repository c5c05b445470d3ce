/*
 * Tries calls that do what a filtered one would, or that no list names, and prints "name errno" (0: it succeeded).
 * None does harm where it is allowed. The first argument is a file of the caller's own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *name, long result) {
	printf("%s %d\n", name, result < 0 ? errno : 0);
}

static void pairs(void) {
	static const struct {
		const char *name;
		int family, type, protocol;
	} kinds[] = {
		{"pair:packet", 17, SOCK_RAW, 0},  {"pair:vsock", 40, SOCK_STREAM, 0}, {"pair:xdp", 44, SOCK_RAW, 0},
		{"pair:alg", 38, SOCK_SEQPACKET, 0}, {"pair:tipc", 30, SOCK_STREAM, 0},  {"pair:audit", 16, SOCK_RAW, 9},
	};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int both[2];
		say(kinds[i].name, syscall(SYS_socketpair, kinds[i].family, kinds[i].type, kinds[i].protocol, both));
	}
	int both[2];
	say("usual:unix", syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, both));
}

int main(int argc, char **argv) {
	pairs();
	say("memory:set_mempolicy", syscall(SYS_set_mempolicy, 0, NULL, 0));
	say("memory:mbind", syscall(SYS_mbind, 0, 0, 0, NULL, 0, 0));
	say("memory:migrate_pages", syscall(SYS_migrate_pages, getpid(), 0, NULL, NULL));
	say("memory:move_pages", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
	say("memory:set_mempolicy_home_node", syscall(450, 0, 0, 0, 0));
	say("unnamed:statmount", syscall(457, NULL, NULL, 0, 0));
	say("unnamed:listmount", syscall(458, NULL, NULL, 0, 0));
	say("unnamed:lsm_list_modules", syscall(461, NULL, NULL, 0));
	say("unnamed:remap_file_pages", syscall(SYS_remap_file_pages, 0, 0, 0, 0, 0));
	say("unnamed:process_mrelease", syscall(448, -1, 0));
	say("unnamed:vmsplice", syscall(SYS_vmsplice, -1, NULL, 0, 0));
	if (argc > 1) {
		int file = open(argv[1], O_CREAT | O_RDWR | O_CLOEXEC, 0755);
		say("usual:open", file);
		say("mode:fchmodat2", syscall(452, AT_FDCWD, argv[1], 04755, 0));
		say("mode:fchmodat2:empty", syscall(452, file, "", 02755, AT_EMPTY_PATH));
	}
	return 0;
}
