using System;
using System.Linq;

Console.WriteLine("hello from C#");
Console.WriteLine(Enumerable.Range(1, 10).Sum(number => number * number));
