/*
 * How long connecting takes as a program sees it: from connect() to the first byte of a server that speaks first.
 *
 *   connect-times ADDRESS PORT COUNT     prints one line of microseconds per connection
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what) {
  fprintf(stderr, "connect-times: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: connect-times ADDRESS PORT COUNT\n");
    return 2;
  }
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[2]))};
  if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) die("address");
  for (int left = atoi(argv[3]); left > 0; left--) {
    char byte;
    double start = now_us();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0) die("connect");
    if (read(fd, &byte, 1) != 1) die("read");
    printf("%.1f\n", now_us() - start);
    close(fd);
  }
  return 0;
}
