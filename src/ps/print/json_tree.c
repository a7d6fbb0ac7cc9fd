// SPDX-License-Identifier: MIT
//
// The tree as JSON, written node by node: there may be a million.
#include "ps/print/json_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "ps/listing/listing.h"
#include "ps/model/forest.h"
#include "symbols/frames_json.h"

static void put_ids(FILE *to, const struct group *g)
{
	fputs(", \"ids\": [", to);
	for (size_t i = 0; i < g->n; i++)
		fprintf(to, "%s%" PRIu64, i ? ", " : "", g->first[i].id);
	fputs("]", to);
}

static int put_value(FILE *to, const char *key, json_t *j)
{
	fprintf(to, ", \"%s\": ", key);
	int e = !j ? -ENOMEM : json_dumpf(j, to, JSON_ENCODE_ANY) ? -EIO : 0;
	json_decref(j);
	return e;
}

static int put_children(FILE *to, const struct report *r, const struct tree_node *node);

static int put_node(FILE *to, const struct report *r, const struct tree_node *node)
{
	char label[128];
	struct coroutine *copy = NULL;
	struct group g;
	int e = forest_group(r->forest, r, node, &copy, &g);
	if (e)
		return e;
	fprintf(to, "{\"count\": %zu, \"all\": %zu, \"state\": \"%s\", \"ready\": %s, \"pooled\": %s", g.n,
		node->all, report_state(g.first), g.first->status == STATUS_READY ? "true" : "false",
		g.first->status == STATUS_POOLED ? "true" : "false");
	put_ids(to, &g);
	e = put_value(to, "label", json_text(report_label(r, g.first, label, sizeof(label))));
	if (!e)
		e = put_value(to, "entry", frames_json_one(report_entry(r, g.first)));
	if (!e)
		e = put_value(to, "created_at",
			      frames_json_one(g.one_creator ? report_created_at(r, g.first) : NULL));
	free(copy);
	if (!e)
		e = put_children(to, r, node);
	fputs("}", to);
	return e;
}

static int put_children(FILE *to, const struct report *r, const struct tree_node *node)
{
	int e = 0;
	fprintf(to, ", \"cut\": %s, \"children\": [", node->cut ? "true" : "false");
	for (size_t i = 0; !e && i < node->nchildren; i++) {
		fputs(i ? ",\n" : "\n", to);
		e = put_node(to, r, &r->forest->tree.nodes[node->children + i]);
	}
	fputs("]", to);
	return e;
}

static int put_root(FILE *to, const struct report *r, const struct tree_node *root)
{
	const struct tables_thread *t = NULL;
	for (size_t i = 0; i < r->tables.nthreads && root->root; i++)
		if (r->tables.threads[i].native == root->root)
			t = &r->tables.threads[i];
	fputs("{\"root\": ", to);
	if (root->root)
		fprintf(to, "%" PRIu64, root->root);
	else
		fputs("null", to);
	if (t)
		fprintf(to, ", \"tid\": %" PRIu32, t->tid);
	else
		fputs(", \"tid\": null", to);
	fprintf(to, ", \"all\": %zu", root->all);
	int e = put_children(to, r, root);
	fputs("}", to);
	return e;
}

static int put_edges(FILE *to, const struct edges *e, const struct listing *unlisted)
{
	bool any = e->n > 0;
	static const char *const why[] = {
		[EDGE_OTHER_END] = "other_end", [EDGE_LOCK] = "lock", [EDGE_HELD] = "held"};
	fputs(",\n\"waits_for\": [", to);
	for (size_t i = 0; i < e->n; i++) {
		const struct edge *x = &e->v[i];
		fprintf(to, "%s{\"from\": %" PRIu64 ", \"to\": %" PRIu64 ", \"why\": \"%s\"",
			i ? ",\n" : "\n", x->from, x->to, why[x->why]);
		if (x->why == EDGE_OTHER_END)
			fprintf(to, ", \"fd\": %d, \"generation\": %" PRIu32 ", \"lock\": null}", x->fd,
				x->gen);
		else
			fprintf(to, ", \"fd\": null, \"generation\": null, \"lock\": \"0x%" PRIx64 "\"}",
				x->lock);
	}
	int error = unlisted ? listing_json_edges(to, unlisted, &any) : 0;
	fputs("],\n\"cycles\": [", to);
	for (size_t i = 0, begin = 0; i < e->ncycles; i++) {
		if (i == begin)
			fputs(begin ? ", [" : "[", to);
		if (e->cycles[i])
			fprintf(to, "%s%" PRIu64, i > begin ? ", " : "", e->cycles[i]);
		else
			fputs("]", to);
		begin = e->cycles[i] ? begin : i + 1;
	}
	fputs("]", to);
	return error;
}

int json_tree_write(FILE *to, const struct report *r)
{
	const struct tree *t = &r->forest->tree;
	int e = 0;
	fputs("\"tree\": [", to);
	for (size_t i = 0; !e && i < t->nroots; i++) {
		fputs(i ? ",\n" : "\n", to);
		e = put_root(to, r, &t->nodes[i]);
	}
	const struct report_wants *w = r->wants;
	const struct listing_wants wants = {w->all, w->whole, w->tree, w->why, w->ids, w->nids};
	if (!e && r->unlisted) {
		fputs(t->nroots ? ",\n" : "\n", to);
		e = listing_json_root(to, r->unlisted, &wants);
	}
	fputs("]", to);
	return e ? e : put_edges(to, &r->forest->edges, r->unlisted);
}
