/* Says who it is after exec: effective ids, capability sets, and whether it can gain any by asking. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

int main(int argc, char **argv) {
	char line[256];
	if (argc > 1) {
		/* identity UID PROGRAM: becomes that user and executes it. */
		int uid = 0;
		sscanf(argv[1], "%d", &uid);
		if (setgid(uid) != 0 || setuid(uid) != 0) return 3;
		execl(argv[2], argv[2], (char *)NULL);
		return 4;
	}
	printf("euid %d egid %d\n", geteuid(), getegid());
	FILE *status = fopen("/proc/thread-self/status", "r");
	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNew", 5)) fputs(line, stdout);
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {0x1ff, 0x1ff, 0x1ff}};
	printf("capset %d\n", syscall(SYS_capset, &header, all) < 0 ? errno : 0);
	for (int capability = 0; capability < 41; capability++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0) printf("ambient %d\n", capability);
	printf("setuid %d\n", geteuid() == 0 ? 0 : setuid(0) < 0 ? errno : 0);
	return 0;
}
