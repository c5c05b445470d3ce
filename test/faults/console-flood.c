/* The first program of a machine that fills its kernel's console, by the port itself, which is quicker than by the kernel. */
#include <sys/io.h>

#define PORT 0x3f8

int main(void) {
	if (iopl(3) != 0) return 1;
	for (;;) outb('a', PORT);
}
