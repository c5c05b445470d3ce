local sum = 0
for number = 1, 10 do
  sum = sum + number * number
end
print("hello from Lua")
print(sum)
