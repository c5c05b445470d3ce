/*
 * bombs KIND AMOUNT: takes AMOUNT of something (processes, threads, descriptors, MiB, ms of processor time), or as much
 * as it gets, prints "KIND got ERRNO", and holds it until its stdin ends. AMOUNT bounds it where nothing else does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1L << 20)

static void hold(const char *kind, long got, int error) {
	char byte;
	printf("%s %ld %d\n", kind, got, error);
	fflush(stdout);
	while (read(0, &byte, 1) > 0) {
	}
}

static void *wait_forever(void *unused) {
	pause();
	return unused;
}

static void forks(long amount) {
	pid_t *children = calloc(amount, sizeof *children);
	long got = 0;
	int error = 0;
	while (got < amount) {
		pid_t child = fork();
		if (child == 0) wait_forever(NULL);
		if (child < 0) {
			error = errno;
			break;
		}
		children[got++] = child;
	}
	hold("fork", got, error);
	for (long i = 0; i < got; i++) kill(children[i], SIGKILL);
}

/* Every process makes more of them, without end, but never more than AMOUNT in all, and for 20 s at most. */
static void swarm(long amount) {
	long *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("swarm 0 0\n");
	fflush(stdout);
	for (;;) {
		if (__atomic_add_fetch(made, 1, __ATOMIC_SEQ_CST) > amount) wait_forever(NULL);
		pid_t child = fork();
		if (child < 0) __atomic_sub_fetch(made, 1, __ATOMIC_SEQ_CST);
		if (child == 0) alarm(20);
	}
}

static void threads(long amount) {
	long got = 0;
	int error = 0;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (pthread_t thread; got < amount; got++) {
		error = pthread_create(&thread, &small, wait_forever, NULL);
		if (error != 0) break;
	}
	hold("thread", got, error);
}

static void descriptors(long amount) {
	long got = 0;
	while (got < amount && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) got++;
	hold("fd", got, got < amount ? errno : 0);
}

static void anonymous(long amount) {
	long got = 0;
	int error = 0;
	for (; got < amount; got++) {
		char *piece = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (piece == MAP_FAILED) {
			error = errno;
			break;
		}
		memset(piece, 1, MIB);
	}
	hold("anon", got, error);
}

static void file(const char *kind, int fd, long amount) {
	static char piece[MIB];
	long got = 0;
	int error = fd < 0 ? errno : 0;
	memset(piece, 1, sizeof piece);
	while (error == 0 && got < amount) {
		if (write(fd, piece, sizeof piece) == sizeof piece) got++;
		else error = errno;
	}
	hold(kind, got, error);
}

static void *burn(void *until) {
	struct timespec now;
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < *(long *)until);
	return NULL;
}

/* Two threads, so that more than one core's worth is asked for. */
static void spin(long wall_ms) {
	struct timespec now, used;
	clock_gettime(CLOCK_MONOTONIC, &now);
	long until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + wall_ms;
	pthread_t other;
	pthread_create(&other, NULL, burn, &until);
	burn(&until);
	pthread_join(other, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	hold("spin", used.tv_sec * 1000 + used.tv_nsec / 1000000, 0);
}

int main(int argc, char **argv) {
	if (argc < 3) return 2;
	const char *kind = argv[1];
	long amount = atol(argv[2]);
	const char *path = argc > 3 ? argv[3] : "";
	if (!strcmp(kind, "fork")) forks(amount);
	else if (!strcmp(kind, "swarm")) swarm(amount);
	else if (!strcmp(kind, "thread")) threads(amount);
	else if (!strcmp(kind, "fd")) descriptors(amount);
	else if (!strcmp(kind, "anon")) anonymous(amount);
	else if (!strcmp(kind, "memfd")) file(kind, memfd_create("bomb", 0), amount);
	else if (!strcmp(kind, "file")) file(kind, open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600), amount);
	else if (!strcmp(kind, "spin")) spin(amount);
	else return 2;
	return 0;
}
