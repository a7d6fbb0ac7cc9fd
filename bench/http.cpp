// SPDX-License-Identifier: MIT
//
// An HTTP server on Boost.Asio's stackful coroutines, one for each connection, which
// is kept alive: the smallest answer there is, so that the switches weigh most.
// Usage: http; prints `port` and the port, and stays until it is ended.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/write.hpp>
#include <iostream>
#include <memory>
#include <string>

using boost::asio::ip::tcp;

static const std::string answer = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nok\n";

static void serve(tcp::socket &socket, boost::asio::yield_context yield)
{
	boost::system::error_code error;
	std::string request;
	for (;;) {
		size_t n = boost::asio::async_read_until(socket, boost::asio::dynamic_buffer(request, 8192), "\r\n\r\n", yield[error]);
		if (error)
			return;
		request.erase(0, n);
		boost::asio::async_write(socket, boost::asio::buffer(answer), yield[error]);
		if (error)
			return;
	}
}

int main()
{
	boost::asio::io_context loop(1);
	boost::asio::spawn(loop, [&](boost::asio::yield_context yield) {
		tcp::acceptor acceptor(loop, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
		std::cout << "port " << acceptor.local_endpoint().port() << std::endl;
		for (;;) {
			auto socket = std::make_shared<tcp::socket>(loop);
			boost::system::error_code error;
			acceptor.async_accept(*socket, yield[error]);
			if (!error)
				boost::asio::spawn(loop, [socket](boost::asio::yield_context y) { serve(*socket, y); });
		}
	});
	loop.run();
}
