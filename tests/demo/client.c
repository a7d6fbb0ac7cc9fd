// SPDX-License-Identifier: MIT
//
// The demo server's client: opens 50 connections, keeps all of them busy for
// a while, then 3 say goodbye and wait for the answer, and 47 hang up at once,
// every other one with a reset.  client PORT [ROUNDS [wait]]; with `wait`, all are idle until standard input ends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS 50
#define POLITE 3

static int conns[CONNS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int connect_to(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		die("connect");
	return fd;
}

// Sends a line and reads it back.
static void ask(int fd, const char *line)
{
	char answer[64];
	size_t want = strlen(line), got = 0;
	if (write(fd, line, want) != (ssize_t)want)
		die("write");
	while (got < want) {
		ssize_t n = read(fd, answer + got, sizeof(answer) - got);
		if (n <= 0)
			die("no answer");
		got += (size_t)n;
	}
}

static void leave_politely(int fd)
{
	char byte;
	ask(fd, "quit\n");
	if (read(fd, &byte, 1) != 0)
		die("no end");
	close(fd);
}

static void hang_up(int fd, int reset)
{
	struct linger now = {1, 0};
	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

int main(int argc, char **argv)
{
	int port = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 200;
	for (int i = 0; i < CONNS; i++)
		conns[i] = connect_to(port);
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < CONNS; i++)
			ask(conns[i], "hello\n");
	for (int i = 0; i < POLITE; i++)
		leave_politely(conns[i]);
	while (argc > 3 && getchar() != EOF)
		;
	for (int i = POLITE; i < CONNS; i++)
		hang_up(conns[i], i % 2);
	printf("%d requests answered; %d left politely, %d hung up\n", rounds * CONNS, POLITE, CONNS - POLITE);
	return 0;
}
