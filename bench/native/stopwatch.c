/*
 * Starts programs and says how long they took, with as little of its own in the figure as can be: it is small, starts
 * by vfork, and reads the clock right before and right after.
 *
 * One request a line on stdin, fields separated by tabs; one answer a line on stdout:
 *   exit  COUNT FOLDER PROGRAM ARGUMENT...  in FOLDER, until all COUNT have ended
 *   ready COUNT SPEC PROGRAM ARGUMENT...    until each has sent a byte on descriptor 4, having got the file SPEC on
 *                                           descriptor 3; then they are ordered to end, which is not timed
 *   byte  COUNT FOLDER PROGRAM ARGUMENT...  in FOLDER, until each has sent a byte on stdout; their end is not timed
 *   -> WALL_NS CPU_US MAXRSS_KIB FAILED   (CPU time and memory of the programs and what they waited for)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FIELDS = 64, MAX_COUNT = 1024, MAX_SPEC = 1 << 20, CONTROL = 3, STREAM = 4, FIRST_OWN = 10 };

struct program {
  pid_t pid;
  int control, stream;
};

static struct program programs[MAX_COUNT];

static void die(const char *what) {
  fprintf(stderr, "stopwatch: %s: %s\n", what, strerror(errno));
  exit(1);
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Above the numbers that a program is given, so that placing one cannot run over another. */
static int own(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN);
  if (high < 0) die("dup");
  close(fd);
  return high;
}

enum mode { UNTIL_EXIT, UNTIL_READY, UNTIL_BYTE };

static void start(struct program *p, char **argv, const char *folder, enum mode mode) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  int theirs[2] = {-1, -1};
  if (mode == UNTIL_BYTE) {
    int stream[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream)) die("socketpair");
    p->stream = own(stream[0]);
    theirs[1] = own(stream[1]);
    posix_spawn_file_actions_adddup2(&actions, theirs[1], 1);
  }
  if (mode == UNTIL_READY) {
    int control[2], stream[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream))
      die("socketpair");
    p->control = own(control[0]);
    p->stream = own(stream[0]);
    theirs[0] = own(control[1]);
    theirs[1] = own(stream[1]);
    posix_spawn_file_actions_adddup2(&actions, theirs[0], CONTROL);
    posix_spawn_file_actions_adddup2(&actions, theirs[1], STREAM);
  }
  extern char **environ;
  errno = posix_spawnp(&p->pid, argv[0], &actions, NULL, argv, environ);
  if (errno) die(argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  for (int i = 0; i < 2; i++)
    if (theirs[i] >= 0) close(theirs[i]);
}

static int send_all(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t n = send(fd, text, length, MSG_NOSIGNAL);
    if (n < 0) return -1;
    text += n;
    length -= (size_t)n;
  }
  return 0;
}

/* Whether the guest, or the program itself, has spoken; a stream that ends without a byte is a failed start. */
static int await_ready(struct program *p) {
  char byte;
  ssize_t n;
  while ((n = recv(p->stream, &byte, 1, 0)) < 0 && errno == EINTR) {
  }
  return n == 1;
}

static void finish(struct program *p) {
  static const char kill_order[] = "{\"do\":\"kill\"}\n";
  char text[4096];
  send_all(p->control, kill_order, sizeof kill_order - 1);
  while (recv(p->control, text, sizeof text, 0) > 0) {
  }
  close(p->control);
  close(p->stream);
}

/* What else it says is of no interest. */
static void drain(struct program *p) {
  char text[4096];
  while (recv(p->stream, text, sizeof text, 0) > 0) {
  }
  close(p->stream);
}

static size_t read_spec(const char *path, char *spec) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die(path);
  ssize_t n = read(fd, spec, MAX_SPEC);
  if (n <= 0) die(path);
  close(fd);
  return (size_t)n;
}

static void serve(char **fields) {
  static char spec[MAX_SPEC];
  int ready = strcmp(fields[0], "ready") == 0;
  int byte = strcmp(fields[0], "byte") == 0;
  int count = atoi(fields[1]);
  if (count < 1 || count > MAX_COUNT) {
    errno = EINVAL;
    die("count");
  }
  size_t spec_length = ready ? read_spec(fields[2], spec) : 0;
  const char *folder = ready ? NULL : fields[2];
  char **argv = fields + 3;
  int failed = 0;
  long cpu_us = 0, maxrss_kib = 0;
  long long ended = 0, began = now_ns();
  for (int i = 0; i < count; i++) {
    start(&programs[i], argv, folder, ready ? UNTIL_READY : byte ? UNTIL_BYTE : UNTIL_EXIT);
    if (ready && send_all(programs[i].control, spec, spec_length)) failed++;
  }
  if (ready || byte) {
    for (int i = 0; i < count; i++) failed += !await_ready(&programs[i]);
    ended = now_ns();
    for (int i = 0; i < count; i++) ready ? finish(&programs[i]) : drain(&programs[i]);
  }
  for (int i = 0; i < count; i++) {
    int status;
    struct rusage used;
    if (wait4(programs[i].pid, &status, 0, &used) < 0) die("wait4");
    failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    cpu_us += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    if (used.ru_maxrss > maxrss_kib) maxrss_kib = used.ru_maxrss;
  }
  if (!ready && !byte) ended = now_ns();
  printf("%lld %ld %ld %d\n", ended - began, cpu_us, maxrss_kib, failed);
  fflush(stdout);
}

int main(void) {
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    line[strcspn(line, "\n")] = 0;
    char *fields[MAX_FIELDS + 1] = {0};
    int n = 0;
    for (char *part = strtok(line, "\t"); part && n < MAX_FIELDS; part = strtok(NULL, "\t")) fields[n++] = part;
    if (n < 4) {
      errno = EINVAL;
      die("request");
    }
    serve(fields);
  }
  return 0;
}
