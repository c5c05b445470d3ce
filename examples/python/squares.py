def sum_of_squares(count: int) -> int:
    return sum(number**2 for number in range(1, count + 1))
