/* In the place of a virtual machine's monitor: opens its files once more, to be written. Says "number errno" on 2. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
	char text[64];
	for (int number = 4; number < 7; number++) {
		snprintf(text, sizeof text, "/proc/self/fd/%d", number);
		int file = open(text, O_WRONLY);
		int length = snprintf(text, sizeof text, "%d %d\n", number, file < 0 ? errno : 0);
		if (file >= 0 && write(file, "owned", 5) != 5) return 1;
		if (write(2, text, length) != length) return 1;
	}
	return 0;
}
