/*
 * A guest that does what the test asks for in place of what the protocol says. It waits for OPEN and takes the words
 * of its argv as its orders; ONCE and AGAIN are bytes in hex.
 *   play ONCE           sends these bytes
 *   drip ONCE           the same, one byte at a time
 *   flood ONCE AGAIN    sends ONCE, then AGAIN without end, and reads on
 *   deaf ONCE AGAIN     the same, and reads nothing
 *   opens ONCE          sends ONCE, then opens channels without end, and reads on
 *   cut ONCE            sends ONCE and closes the stream, but lives on
 *   die ONCE            sends ONCE and ends
 *   silent              answers nothing
 * Of a warm or a kept sandbox the stream comes through a door. A kept one has to be ready before it gets any orders, so
 * there it says HELLO by itself. In a container the stream is two pipes; in a virtual machine it is there before it may
 * be used.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STREAM 3
/* Behind the eight listeners of a captured network. */
#define OUTPUT_PIPE 12
#define HELLO 1
#define OPEN 2

static int output = STREAM;

static void take(void *into, size_t length) {
	for (char *at = into; length > 0;) {
		ssize_t got = read(STREAM, at, length);
		if (got <= 0) _exit(0);
		at += got;
		length -= got;
	}
}

static void give(const void *bytes, size_t length) {
	for (const char *at = bytes; length > 0;) {
		ssize_t done = write(output, at, length);
		if (done <= 0) _exit(0);
		at += done;
		length -= done;
	}
}

struct bytes {
	unsigned char *at;
	size_t length;
};

static void block(int fd) {
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* Until a host is let in: its stream then takes the door's place. */
static void await_host(void) {
	block(STREAM);
	for (;;) {
		char text[9];
		union {
			char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
			struct cmsghdr aligned;
		} space;
		struct iovec part = {text, sizeof text};
		struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
		if (recvmsg(STREAM, &message, 0) <= 0) _exit(0);
		struct cmsghdr *passed = CMSG_FIRSTHDR(&message);
		while (passed != NULL && passed->cmsg_type != SCM_RIGHTS) passed = CMSG_NXTHDR(&message, passed);
		if (passed == NULL) continue;
		int stream;
		memcpy(&stream, CMSG_DATA(passed), sizeof stream);
		block(stream);
		dup2(stream, STREAM);
		close(stream);
		return;
	}
}

/* Until whoever has the stream says that it may be used. */
static void await_turn(void) {
	char told = 0;
	if (write(STREAM, &told, 1) != 1 || read(STREAM, &told, 1) != 1) _exit(0);
	dup2(OUTPUT_PIPE, STREAM);
}

static void hello(void) {
	static const char body[] =
		"{\"protocol\":1,\"guest\":\"hostile\",\"window\":65536,\"features\":[\"exec\",\"kept\"],\"execs\":[]}";
	unsigned char header[12] = {sizeof body - 1, 0, 0, 0, 0, 0, 0, 0, HELLO};
	give(header, sizeof header);
	give(body, sizeof body - 1);
}

static int digit(char c) {
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The bytes of a hex word; nothing for one that is not there. */
static struct bytes unhex(const char *text) {
	size_t length = text == NULL ? 0 : strlen(text) / 2;
	struct bytes made = {malloc(length + 1), length};
	for (size_t i = 0; i < length; i++) made.at[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]);
	return made;
}

static void drip(struct bytes bytes) {
	struct timespec moment = {0, 200000};
	for (size_t i = 0; i < bytes.length; i++) {
		give(bytes.at + i, 1);
		nanosleep(&moment, NULL);
	}
}

/* Many at once: the host, not the writing, shall be what is slow. */
static void flood(struct bytes again) {
	size_t times = again.length == 0 ? 0 : 262144 / again.length + 1;
	unsigned char *many = malloc(times * again.length + 1);
	for (size_t i = 0; i < times; i++) memcpy(many + i * again.length, again.at, again.length);
	for (;;) give(many, times * again.length);
}

static void opens(void) {
	static const char body[] = "{\"kind\":\"unheard-of\"}";
	unsigned char frame[12 + sizeof body - 1] = {sizeof body - 1, 0, 0, 0, 0, 0, 0, 0, OPEN};
	memcpy(frame + 12, body, sizeof body - 1);
	for (uint32_t id = 2;; id += 2) {
		memcpy(frame + 4, &id, sizeof id);
		give(frame, sizeof frame);
	}
}

static void obey(const char *verb, struct bytes once, struct bytes again) {
	if (!strcmp(verb, "silent")) return;
	if (!strcmp(verb, "drip")) {
		drip(once);
		return;
	}
	give(once.at, once.length);
	if (!strcmp(verb, "deaf")) flood(again);
	if (!strcmp(verb, "flood") && fork() == 0) flood(again);
	if (!strcmp(verb, "opens") && fork() == 0) opens();
	if (!strcmp(verb, "die")) _exit(9);
	if (!strcmp(verb, "cut")) {
		close(STREAM);
		close(output);
		for (;;) pause();
	}
}

/* The words of argv in an OPEN, which are plain ones here. */
static void follow(char *payload) {
	char *list = strstr(payload, "\"argv\":[");
	char *words[3] = {NULL, NULL, NULL};
	if (list == NULL) return;
	*strchr(list, ']') = 0;
	char *at = strchr(list, '[') + 1;
	for (int i = 0; i < 3 && at != NULL && *at == '"'; i++) {
		words[i] = at + 1;
		at = strchr(at + 1, '"');
		*at++ = 0;
		if (*at == ',') at++;
	}
	if (words[0] != NULL) obey(words[0], unhex(words[1]), unhex(words[2]));
}

int main(int count, char **words) {
	for (int i = 1; i < count; i++) {
		int is_kept = !strcmp(words[i], "kept");
		if (is_kept || !strcmp(words[i], "warm")) await_host();
		if (is_kept) hello();
		if (!strcmp(words[i], "machine")) await_turn();
		if (!strcmp(words[i], "pipes")) output = OUTPUT_PIPE;
	}
	for (;;) {
		unsigned char header[12];
		take(header, sizeof header);
		uint32_t length;
		memcpy(&length, header, sizeof length);
		char *payload = malloc(length + 1);
		take(payload, length);
		payload[length] = 0;
		if (header[8] == OPEN) follow(payload);
		free(payload);
	}
}
