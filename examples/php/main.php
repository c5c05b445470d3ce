<?php
echo "hello from PHP\n";
echo array_sum(array_map(fn (int $number): int => $number ** 2, range(1, 10))), "\n";
