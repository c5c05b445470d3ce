IO.puts("hello from Elixir")
IO.puts(Enum.sum(for number <- 1..10, do: number * number))
