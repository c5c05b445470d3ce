/*
 * survive MARK WAYS...: leaves processes behind in every named way, prints "ready" when all of them run, then waits,
 * or ends at once with the way "leave". The mark is in the arguments of all, so that they can be found from outside.
 *   fork    double fork and a session of its own
 *   deaf    ignores every signal that can be ignored
 *   stop    stops its own parent, then itself
 *   hold    keeps stdout and stderr open
 *   storm   a process that is replaced by a child of its own without end
 *   deep    a chain of 20 processes, each in its own session
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready[2];

static void started(void) {
	if (write(ready[1], "x", 1) != 1) _exit(1);
}

static void quiet(void) {
	close(0);
	close(1);
	close(2);
}

static void ignore_all(void) {
	for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
}

static void forever(void) {
	for (;;) pause();
}

static void lone(void) {
	if (fork() != 0) _exit(0);
	setsid();
	if (fork() != 0) _exit(0);
}

static void way(const char *name) {
	if (!strcmp(name, "fork")) {
		lone();
		quiet();
	} else if (!strcmp(name, "deaf")) {
		lone();
		ignore_all();
		quiet();
	} else if (!strcmp(name, "stop")) {
		pid_t child = fork();
		if (child == 0) {
			setsid();
			quiet();
			started();
			kill(getppid(), SIGSTOP);
			kill(getpid(), SIGSTOP);
			forever();
		}
		forever();
	} else if (!strcmp(name, "storm")) {
		lone();
		quiet();
		started();
		for (;;)
			if (fork() > 0) _exit(0);
	} else if (!strcmp(name, "deep")) {
		quiet();
		for (int i = 0; i < 20; i++) {
			if (fork() != 0) forever();
			setsid();
		}
	} else {
		lone();
	}
	started();
	forever();
}

int main(int argc, char **argv) {
	int wanted = 0, leave = 0;
	char byte;
	if (argc < 3 || pipe(ready) != 0) return 2;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "leave")) {
			leave = 1;
			continue;
		}
		wanted++;
		if (fork() == 0) way(argv[i]);
	}
	for (; wanted > 0; wanted--)
		if (read(ready[0], &byte, 1) != 1) return 3;
	printf("ready\n");
	fflush(stdout);
	if (leave) return 7;
	ignore_all();
	forever();
}
