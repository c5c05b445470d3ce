package main

// digits does without strconv, whose packages would be compiled for nothing else.
func digits(number int) string {
	if number < 10 {
		return string(rune('0' + number))
	}
	return digits(number/10) + digits(number%10)
}
