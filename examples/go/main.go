package main

import "os"

func sumOfSquares(count int) int {
	sum := 0
	for number := 1; number <= count; number++ {
		sum += number * number
	}
	return sum
}

func main() {
	os.Stdout.WriteString("hello from Go\n")
	os.Stdout.WriteString(digits(sumOfSquares(10)) + "\n")
}
