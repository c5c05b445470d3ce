// Process 1 of a machine that can be made to hang. It begins as two: one becomes the real process 1, whose program is in
// this one; the other waits for a connection to a port, which whoever is in the sandbox can make, and then takes the only
// processor for itself, above everything else and for ever. The kernel lives, and nothing runs on it any more.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern const unsigned char real_init[], real_init_end[];
__asm__(".section .rodata\n.global real_init, real_init_end\nreal_init:\n.incbin \"" REAL_INIT "\"\nreal_init_end:\n.text\n");

enum { PORT = 4999, HIGHEST = 99 };

// Usually the last twentieth of a second is everybody's.
static void take_all_time(void) {
    mkdir("/limits", 0755);
    mount("proc", "/limits", "proc", 0, NULL);
    int limit = open("/limits/sys/kernel/sched_rt_runtime_us", O_WRONLY);
    if (write(limit, "-1", 2) != 2) _exit(1);
    close(limit);
}

static void hang_when_asked(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server, (struct sockaddr *)&here, sizeof here) != 0 || listen(server, 1) != 0) _exit(1);
    accept(server, NULL, NULL);
    take_all_time();
    struct sched_param priority = {.sched_priority = HIGHEST};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) _exit(1);
    for (;;) __asm__ volatile("");
}

int main(int count, char **words, char **environment) {
    (void)count;
    if (fork() == 0) hang_when_asked();
    int program = memfd_create("init", MFD_CLOEXEC);
    for (const unsigned char *at = real_init; at < real_init_end;) {
        ssize_t written = write(program, at, (size_t)(real_init_end - at));
        if (written <= 0) return 1;
        at += written;
    }
    return fexecve(program, words, environment);
}
