// SPDX-License-Identifier: MIT
//
// The tree of who created whom, and below it who waits for whom. Equal coroutines are one
// line, however many there are; with --all each has its own.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ps/model/forest.h"
#include "ps/print/text.h"

enum { CYCLES_SHOWN = 20, EDGES_SHOWN = 100, INDENT = 4 };

// ------------------------------------------------------------------- the tree

struct branch { // what stands before a line
	char text[INDENT * (TREE_DEEPEST + 3) + 1];
};

static struct branch below(const struct branch *b, bool last)
{
	struct branch down = *b;
	size_t n = strlen(down.text);
	if (n + INDENT < sizeof(down.text))
		memcpy(down.text + n, last ? "    " : "|   ", INDENT + 1);
	return down;
}

static void print_item(const struct page *p, const struct group *g)
{
	text_head(p, g);
	text_head_created(p, g);
	fputc('\n', p->to);
}

static int print_children(const struct page *p, const struct tree_node *node, const struct branch *b);

static int print_node(const struct page *p, const struct tree_node *node, const struct branch *b, bool last)
{
	const struct forest *f = p->r->forest;
	struct branch down = below(b, last);
	struct coroutine *copy = NULL;
	struct group g;
	int e = forest_group(f, p->r, node, &copy, &g);
	if (e)
		return e;
	fprintf(p->to, "%s%s", b->text, last ? "`-- " : "|-- ");
	print_item(p, &g);
	if (p->r->wants->whole && g.stack)
		e = text_frames_stack(p, down.text, g.stack);
	free(copy);
	if (node->cut && node->nchildren)
		fprintf(p->to, "%s(all below stands side by side here)\n", down.text);
	return e ? e : print_children(p, node, &down);
}

static int print_children(const struct page *p, const struct tree_node *node, const struct branch *b)
{
	int e = 0;
	for (size_t i = 0; !e && i < node->nchildren; i++)
		e = print_node(p, &p->r->forest->tree.nodes[node->children + i], b, i + 1 == node->nchildren);
	return e;
}

static int print_roots(const struct page *p)
{
	const struct tree *t = &p->r->forest->tree;
	const struct branch none = {""};
	char who[160];
	int e = 0;
	for (size_t i = 0; !e && i < t->nroots; i++) {
		if (t->nodes[i].root)
			fprintf(p->to, "%s\n", report_who(p->r, t->nodes[i].root, NULL, who, sizeof(who)));
		else
			fputs("whoever made these has ended, or was not seen\n", p->to);
		e = print_children(p, &t->nodes[i], &none);
	}
	return e;
}

// ------------------------------------------------------------------- the edges

struct fold {              // an edge, by what is the same to a reader
	uint64_t from, to; // groups, or threads
	const struct edge *edge;
};

static uint64_t kind_of(const struct page *p, uint64_t id)
{
	const struct coroutine *c = p->r->wants->all ? NULL : report_find(p->r, id);
	return c ? p->r->forest->group_of[c - p->r->tables.coroutines] : 1ULL << 32 | id;
}

static int by_kinds(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static int by_to(const void *a, const void *b)
{
	const struct fold *x = a, *y = b;
	return (x->edge->to > y->edge->to) - (x->edge->to < y->edge->to);
}

static void print_party(const struct page *p, uint64_t id, size_t n)
{
	char who[160];
	const struct coroutine *c = report_find(p->r, id);
	if (n > 1 && c)
		fprintf(p->to, "%s x %zu", report_label(p->r, c, who, sizeof(who)), n);
	else
		fputs(report_who(p->r, id, NULL, who, sizeof(who)), p->to);
}

// n edges that are the same to a reader; they come sorted by `from`.
static void print_fold(const struct page *p, struct fold *v, size_t n)
{
	const struct edge *first = v->edge;
	size_t from = 0, to = 0;
	for (size_t i = 0; i < n; i++)
		from += i == 0 || v[i].edge->from != v[i - 1].edge->from;
	qsort(v, n, sizeof(*v), by_to);
	for (size_t i = 0; i < n; i++)
		to += i == 0 || v[i].edge->to != v[i - 1].edge->to;
	fputs("  ", p->to);
	print_party(p, first->from, from);
	fputs(" -> ", p->to);
	print_party(p, first->to, to);
	if (first->why == EDGE_OTHER_END && n == 1)
		fprintf(p->to, "  (the other end of fd %d#%" PRIu32 ")\n", first->fd, first->gen);
	else if (first->why == EDGE_OTHER_END)
		fputs("  (the other ends of what they wait for)\n", p->to);
	else
		fprintf(p->to, "  (%s lock 0x%" PRIx64 ")\n",
			first->why == EDGE_HELD ? "was suspended with" : "holds", first->lock);
}

static int print_edges(const struct page *p)
{
	const struct edges *e = &p->r->forest->edges;
	struct fold *v = calloc(e->n + 1, sizeof(*v));
	size_t shown = 0;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < e->n; i++)
		v[i] = (struct fold){kind_of(p, e->v[i].from), kind_of(p, e->v[i].to), &e->v[i]};
	if (e->n) {
		qsort(v, e->n, sizeof(*v), by_kinds);
		fputs("who waits for whom\n", p->to);
	}
	for (size_t i = 0, end; i < e->n; i = end) {
		for (end = i + 1; end < e->n && v[end].from == v[i].from && v[end].to == v[i].to; end++)
			;
		if (p->r->wants->all || shown < EDGES_SHOWN)
			print_fold(p, v + i, end - i);
		shown++;
	}
	if (!p->r->wants->all && shown > EDGES_SHOWN)
		fprintf(p->to, "  ... %zu more (--all shows each)\n", shown - EDGES_SHOWN);
	free(v);
	return 0;
}

static void print_cycles(const struct page *p)
{
	const struct edges *e = &p->r->forest->edges;
	size_t shown = 0;
	for (size_t i = 0, begin = 0; i < e->ncycles; i++) {
		bool end = !e->cycles[i];
		if (shown < CYCLES_SHOWN) {
			if (i == begin)
				fprintf(p->to, "%scycle:%s ", text_paint(p, TEXT_RED),
					text_paint(p, TEXT_PLAIN));
			print_party(p, e->cycles[end ? begin : i], 1);
			fputs(end ? "\n" : " -> ", p->to);
		}
		begin = end ? i + 1 : begin;
		shown += end;
	}
	if (shown > CYCLES_SHOWN)
		fprintf(p->to, "... %zu more cycles\n", shown - CYCLES_SHOWN);
	if (shown)
		fputs("each in a cycle waits for nothing else that is known; a timer or a signal may still end it\n",
		      p->to);
}

int text_tree(const struct page *p)
{
	int e = print_roots(p);
	if (!e)
		e = print_edges(p);
	if (!e)
		print_cycles(p);
	return e;
}
