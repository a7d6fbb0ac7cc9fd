// SPDX-License-Identifier: MIT
//
// One connection, one request at a time. The query stands in the URL, data in the body. Joins of
// tables that are distributed over several servers are made on each of them
// (distributed_product_mode), as all rows of a trace are on one.
#include "analyze/export/clickhouse.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/url.h"

#define CONNECT_SECONDS 30L
#define ANSWER_MOST (64u << 20)

struct clickhouse {
	struct target *t;
	CURL *curl;
	struct curl_slist *headers;
	char *base; // "http://host:8123/?database=d"
	char *answer;
	size_t answered, capacity;
	char error[CURL_ERROR_SIZE];
};

static size_t take(char *from, size_t size, size_t n, void *arg)
{
	struct clickhouse *c = arg;
	size_t bytes = size * n;
	if (c->answered + bytes > ANSWER_MOST)
		return 0;
	if (c->answered + bytes + 1 > c->capacity) {
		size_t want = (c->answered + bytes + 1) * 2;
		char *more = realloc(c->answer, want);
		if (!more)
			return 0;
		c->answer = more;
		c->capacity = want;
	}
	memcpy(c->answer + c->answered, from, bytes);
	c->answered += bytes;
	c->answer[c->answered] = 0;
	return bytes;
}

static char *make_base(struct clickhouse *c, const struct url *u)
{
	char secure[8], *base = NULL;
	bool tls = url_option(u, "secure", secure, sizeof(secure)) && strcmp(secure, "0");
	bool six = u->host && strchr(u->host, ':');
	char *database = u->database ? curl_easy_escape(c->curl, u->database, 0) : NULL;
	if (asprintf(
		    &base,
		    "%s://%s%s%s:%s/?distributed_product_mode=local&output_format_json_quote_64bit_integers=0%s%s",
		    tls ? "https" : "http", six ? "[" : "", u->host ? u->host : "localhost", six ? "]" : "",
		    u->port ? u->port :
		    tls     ? "8443" :
			      "8123",
		    database ? "&database=" : "", database ? database : "") < 0)
		base = NULL;
	curl_free(database);
	return base;
}

static int set_up(struct clickhouse *c, const struct url *u)
{
	char *password = NULL;
	int r = u->password ? target_fail(c->t, -EINVAL,
					  "a password on the command line can be read by others; put it into "
					  "CLICKHOUSE_PASSWORD or --password-file") :
			      target_password(c->t, "CLICKHOUSE_PASSWORD", &password);
	if (r)
		return r;
	c->base = make_base(c, u);
	// without it, 1 MB of data waits for a "100 Continue"
	c->headers = curl_slist_append(NULL, "Expect:");
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
	if (u->user)
		curl_easy_setopt(c->curl, CURLOPT_USERNAME, u->user);
	if (password) {
		curl_easy_setopt(c->curl, CURLOPT_USERNAME, u->user ? u->user : "default");
		curl_easy_setopt(c->curl, CURLOPT_PASSWORD, password);
	}
	free(password);
	return c->base && c->headers ? 0 : -ENOMEM;
}

int clickhouse_open(struct clickhouse **out, struct target *t)
{
	struct url u;
	struct clickhouse *c = *out = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->t = t;
	int r = url_read(&u, t->settings->where);
	if (r)
		return r == -EINVAL ?
			       target_fail(t, r, "it is written clickhouse://USER@HOST:PORT/DATABASE") :
			       r;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->curl = curl_easy_init();
	r = c->curl ? set_up(c, &u) : -ENOMEM;
	url_deinit(&u);
	return r;
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	curl_slist_free_all(c->headers);
	if (c->curl)
		curl_easy_cleanup(c->curl);
	free(c->base);
	free(c->answer);
	free(c);
}

// "Code: 60, e.displayText() = DB::Exception: Table d.x doesn't exist., e.what() = ..." has one part for
// people.
static int fail(struct clickhouse *c, long status)
{
	char *text = c->answered ? c->answer : "";
	char *from = strstr(text, "DB::Exception: "), *end = strstr(text, ", e.what()");
	if (end)
		*end = 0;
	if (from)
		text = from + strlen("DB::Exception: ");
	return *text ? target_fail(c->t, -EIO, "%s", text) :
		       target_fail(c->t, -EIO, "it answers with HTTP status %ld", status);
}

int clickhouse_run(struct clickhouse *c, const char *query, const char *data, size_t bytes, char **answer)
{
	char *escaped = data ? curl_easy_escape(c->curl, query, 0) : NULL, *url = NULL;
	long status = 0;
	if (data && (!escaped || asprintf(&url, "%s&query=%s", c->base, escaped) < 0)) {
		curl_free(escaped);
		return -ENOMEM;
	}
	curl_free(escaped);
	c->answered = 0;
	if (c->answer)
		*c->answer = 0;
	curl_easy_setopt(c->curl, CURLOPT_URL, url ? url : c->base);
	curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(data ? bytes : strlen(query)));
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, data ? data : query);
	CURLcode e = curl_easy_perform(c->curl);
	free(url);
	if (e)
		return target_fail(c->t, -EIO, "%s", *c->error ? c->error : curl_easy_strerror(e));
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return fail(c, status);
	if (answer)
		*answer = c->answered ? c->answer : "";
	return 0;
}
