from squares import sum_of_squares

print("hello from Python")
print(sum_of_squares(10))
