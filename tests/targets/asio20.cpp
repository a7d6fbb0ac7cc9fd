// SPDX-License-Identifier: MIT
//
// An echo server of Asio's awaitables (Boost's, or with STANDALONE those without it), and its clients, under load:
// `asio20 N`. It says "ready" when all N connections have echoed, and goes on. At SIGUSR1 each client ends its
// round and waits for a timer that is far away: "at rest ROUNDS".
#include <utility> // which Boost 1.74 forgets

#ifdef STANDALONE
#include <asio.hpp>
#else
#include <boost/asio.hpp>
namespace asio = boost::asio;
#endif

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

static int count, up, resting;
static unsigned long rounds;
static bool pausing;

static awaitable<std::size_t> read_some(tcp::socket &s, std::string &line)
{
	char bytes[64];
	std::size_t n = co_await s.async_read_some(asio::buffer(bytes), use_awaitable); // reads
	line.append(bytes, n);
	co_return n;
}

static awaitable<void> read_line(tcp::socket &s, std::string &line)
{
	line.clear();
	while (line.empty() || line.back() != '\n')
		co_await read_some(s, line); // awaits read_some
}

static awaitable<void> session(tcp::socket s)
{
	std::string line;
	for (;;) {
		co_await read_line(s, line); // awaits read_line
		co_await asio::async_write(s, asio::buffer(line), use_awaitable);
	}
}

static awaitable<void> listener(tcp::acceptor a)
{
	for (;;) {
		tcp::socket s = co_await a.async_accept(use_awaitable); // accepts
		asio::co_spawn(a.get_executor(), session(std::move(s)), asio::detached);
	}
}

static awaitable<void> rest(tcp::socket &s)
{
	asio::steady_timer t(s.get_executor(), std::chrono::hours(24));
	if (++resting == count) {
		std::printf("at rest %lu\n", rounds);
		std::fflush(stdout);
	}
	co_await t.async_wait(use_awaitable); // rests
}

static awaitable<void> client(tcp::socket s, tcp::endpoint to)
{
	std::string line;
	co_await s.async_connect(to, use_awaitable);
	for (bool first = true;; first = false) {
		co_await asio::async_write(s, asio::buffer("hello\n", 6), use_awaitable);
		co_await read_line(s, line);
		rounds++;
		if (first && ++up == count) {
			std::puts("ready");
			std::fflush(stdout);
		}
		if (pausing)
			co_await rest(s); // awaits rest
	}
}

int main(int argc, char **argv)
{
	asio::io_context io(1);
	count = argc > 1 ? std::atoi(argv[1]) : 10;
	tcp::acceptor a(io, {asio::ip::address_v4::loopback(), 0});
	a.listen(1024);
	tcp::endpoint to = a.local_endpoint();
	asio::co_spawn(io, listener(std::move(a)), asio::detached);
	for (int i = 0; i < count; i++)
		asio::co_spawn(io, client(tcp::socket(io), to), asio::detached);
	asio::signal_set signals(io, SIGUSR1);
	signals.async_wait([](auto, int) { pausing = true; });
	io.run();
}
