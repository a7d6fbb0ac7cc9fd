// SPDX-License-Identifier: MIT
//
// Two runs never take the same time. A difference is reported only if it is more than
// chance: by the Kolmogorov-Smirnov test of the buckets, or, where all values are in one or
// two buckets, by the means, whose spread is assumed to be as large as the buckets allow. And
// it must be more than a little: other load makes everything somewhat slower.
#include "analyze/diff/diff_stats.h"

#include <math.h>

#define CHANCE_DISTANCE 1.95 // sqrt(-ln(0.001 / 2) / 2)
#define CHANCE_MEANS 4.0     // standard errors
#define MUCH 1.5
#define MUCH_P99 2.0

static double lower(unsigned bucket)
{
	return bucket ? ldexp(1, (int)bucket) : 0;
}

static double upper(const struct profile_histogram *h, unsigned bucket)
{
	double most = (double)h->most, end = ldexp(1, (int)bucket + 1);
	return end < most || bucket + 1 < PROFILE_BUCKETS ? fmin(end, most > lower(bucket) ? most : end) :
							    most;
}

double diff_stats_quantile(const struct profile_histogram *h, double part)
{
	double want = part * (double)h->n, seen = 0;
	for (unsigned i = 0; i < PROFILE_BUCKETS; i++) {
		double here = (double)h->buckets[i];
		if (here > 0 && seen + here >= want) {
			double lo = fmax(lower(i), (double)h->least), hi = upper(h, i),
			       at = (want - seen) / here;
			return lo < 1 ? at * hi :
					lo * pow(hi / lo, at); // evenly, as buckets are: by the logarithm
		}
		seen += here;
	}
	return (double)h->most;
}

double diff_stats_mean(const struct profile_histogram *h)
{
	return h->n ? (double)h->sum / (double)h->n : 0;
}

void diff_stats_add(struct profile_histogram *to, const struct profile_histogram *more)
{
	if (more->n)
		to->least = to->n && to->least < more->least ? to->least : more->least;
	to->n += more->n;
	to->sum += more->sum;
	to->most = more->most > to->most ? more->most : to->most;
	for (unsigned i = 0; i < PROFILE_BUCKETS; i++)
		to->buckets[i] += more->buckets[i];
}

// The largest distance between the two sums of parts, in what chance makes of it.
static double distance(const struct profile_histogram *a, const struct profile_histogram *b)
{
	double n = (double)a->n, m = (double)b->n, x = 0, y = 0, far = 0;
	for (unsigned i = 0; i < PROFILE_BUCKETS; i++) {
		x += (double)a->buckets[i] / n;
		y += (double)b->buckets[i] / m;
		far = fmax(far, fabs(x - y));
	}
	return far * sqrt(n * m / (n + m));
}

// Of the mean: no less than it can be, as nothing is known of where in its bucket a value lies.
static double variance(const struct profile_histogram *h)
{
	double mean = diff_stats_mean(h), sum = 0;
	for (unsigned i = 0; i < PROFILE_BUCKETS; i++) {
		double off = fmax(fabs(lower(i) - mean), fabs(upper(h, i) - mean));
		sum += h->buckets[i] ? (double)h->buckets[i] * off * off : 0;
	}
	return sum / (double)h->n / (double)h->n;
}

static double ratio_of(double old, double now)
{
	return (now + 1) / (old + 1); // a nanosecond is nothing
}

static double further(double a, double b)
{
	return fabs(log(a)) >= fabs(log(b)) ? a : b;
}

enum diff_change diff_stats_compare(const struct profile_histogram *old, const struct profile_histogram *now,
				    double *ratio)
{
	*ratio = 1;
	if (old->n < DIFF_LEAST || now->n < DIFF_LEAST)
		return DIFF_FEW;
	double medians = ratio_of(diff_stats_quantile(old, 0.5), diff_stats_quantile(now, 0.5)),
	       means = ratio_of(diff_stats_mean(old), diff_stats_mean(now));
	double tails = ratio_of(diff_stats_quantile(old, 0.99), diff_stats_quantile(now, 0.99)), by = 1;
	bool apart = distance(old, now) > CHANCE_DISTANCE;
	bool means_apart = fabs(diff_stats_mean(old) - diff_stats_mean(now)) >
			   CHANCE_MEANS * sqrt(variance(old) + variance(now));
	if (apart && fabs(log(medians)) >= log(MUCH))
		by = medians;
	if (means_apart && fabs(log(means)) >= log(MUCH))
		by = further(by, means);
	if (apart && old->n >= DIFF_LEAST_P99 && now->n >= DIFF_LEAST_P99 &&
	    fabs(log(tails)) >= log(MUCH_P99))
		by = further(by, tails);
	*ratio = by;
	return by > 1 ? DIFF_SLOWER : by < 1 ? DIFF_FASTER : DIFF_SAME;
}
