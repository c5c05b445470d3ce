puts "hello from Ruby"
puts (1..10).sum { |number| number**2 }
