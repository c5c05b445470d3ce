#include <stdio.h>

static int sum_of_squares(int count) {
  int sum = 0;
  for (int number = 1; number <= count; number++) sum += number * number;
  return sum;
}

int main(void) {
  puts("hello from C");
  printf("%d\n", sum_of_squares(10));
  return 0;
}
