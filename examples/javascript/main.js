import { sumOfSquares } from "./squares.js";

console.log("hello from JavaScript");
console.log(sumOfSquares(10));
