// SPDX-License-Identifier: MIT
//
// D's Generator is a Fiber: n of them, k yields each. A generator goes in once
// for each value and once more to end, and comes out as often: 200 of 100
// make 200 * 101 * 2 = 40,400 switches.
import std.concurrency : Generator, yield;
import std.conv : to;
import std.stdio : writefln;

void main(string[] args)
{
	int n = args.length > 1 ? args[1].to!int : 200, k = args.length > 2 ? args[2].to!int : 100;
	long sum = 0;
	foreach (i; 0 .. n)
	{
		auto g = new Generator!int({
			foreach (j; 0 .. k)
				yield(i + j);
		});
		foreach (v; g)
			sum += v;
	}
	writefln("%s generators, sum %s", n, sum);
}
