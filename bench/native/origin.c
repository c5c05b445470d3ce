/*
 * The far end of the network figures, with as little of its own in them as can be.
 *
 *   origin ADDRESS BULK_PORT GREETING_PORT
 *
 * On BULK_PORT it answers `GET /N` with N bytes straight from memory (sendfile); on GREETING_PORT it sends one byte to
 * whoever connects, and closes. Prints a line when both listen, and ends when its stdin does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILE_BYTES = 64 << 20, BACKLOG = 1024, MAX_HEAD = 8192 };

static void die(const char *what) {
  fprintf(stderr, "origin: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int listen_on(const char *address, const char *port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  if (inet_pton(AF_INET, address, &at.sin_addr) != 1) die("address");
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  if (fd < 0) die("socket");
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0) die("listen");
  return fd;
}

static int filled_memory(void) {
  int fd = memfd_create("bulk", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, FILE_BYTES) < 0) die("memory");
  char *bytes = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) die("map");
  memset(bytes, 'a', FILE_BYTES);
  munmap(bytes, FILE_BYTES);
  return fd;
}

static void answer(int client, int memory) {
  char head[MAX_HEAD + 1];
  size_t length = 0;
  do {
    ssize_t count = read(client, head + length, MAX_HEAD - length);
    if (count <= 0) return;
    length += (size_t)count;
    head[length] = 0;
  } while (!strstr(head, "\r\n\r\n") && length < MAX_HEAD);
  long long left = 0;
  if (sscanf(head, "GET /%lld ", &left) != 1) return;
  char reply[128];
  int size = snprintf(reply, sizeof reply,
                      "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\nConnection: close\r\n\r\n", left);
  if (write(client, reply, (size_t)size) != size) return;
  while (left > 0) {
    off_t at = 0;
    while (at < FILE_BYTES && left > 0) {
      ssize_t sent = sendfile(client, memory, &at, left < FILE_BYTES - at ? (size_t)left : (size_t)(FILE_BYTES - at));
      if (sent <= 0) return;
      left -= sent;
    }
  }
}

static void serve_bulk(int listener, int memory) {
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client < 0) continue;
    if (fork() == 0) {
      answer(client, memory);
      _exit(0);
    }
    close(client);
  }
}

static void serve_greetings(int listener) {
  for (;;) {
    int client = accept(listener, NULL, NULL);
    if (client < 0) continue;
    ssize_t sent = write(client, "!", 1);
    (void)sent;
    close(client);
  }
}

static void start(void (*serve)(int, int), int listener, int memory) {
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (serve) serve(listener, memory);
  else serve_greetings(listener);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: origin ADDRESS BULK_PORT GREETING_PORT\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  int memory = filled_memory();
  start(serve_bulk, listen_on(argv[1], argv[2]), memory);
  start(NULL, listen_on(argv[1], argv[3]), -1);
  puts("listening");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  return 0;
}
