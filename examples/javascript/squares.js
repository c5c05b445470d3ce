export function sumOfSquares(count) {
  return Array.from({ length: count }, (_, index) => (index + 1) ** 2).reduce((sum, square) => sum + square);
}
