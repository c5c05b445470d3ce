#!/bin/sh
set -eu
sum=0
for number in 1 2 3 4 5 6 7 8 9 10; do
  sum=$((sum + number * number))
done
echo "hello from shell"
echo "$sum"
