// SPDX-License-Identifier: GPL-2.0-only
/*
 * What indexes have to hold: arrays in order, whose bytes live until the end of a run.
 */
#include <string.h>

#include "fuzz.h"

#define BYTES	(4U << 20)

struct model models[MAX_MODELS];
u32 nr_models;

static u8 bytes[BYTES];
static u32 used;

void models_reset(void)
{
	nr_models = 0;
	used = 0;
}

u8 *model_bytes(u32 len)
{
	u8 *at = bytes + used;

	if (len > BYTES - used)
		return NULL;
	used += len;
	return at;
}

bool model_room(const struct model *model)
{
	return model->nr < MODEL_RECORDS && used + (256U << 10) < BYTES;
}

static int compare(struct bytes a, struct bytes b)
{
	int cmp = memcmp(a.data, b.data, min(a.len, b.len));

	return cmp ? cmp : (int)a.len - (int)b.len;
}

/* Where the key is, or belongs. */
u32 model_find(const struct model *model, struct bytes key, bool *found)
{
	u32 low = 0, high = model->nr, at;
	int cmp;

	*found = false;
	while (low < high) {
		at = (low + high) / 2;
		cmp = compare(model->rec[at].key, key);
		*found |= !cmp;
		if (cmp < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

static struct bytes keep(struct bytes from)
{
	u8 *to = model_bytes(from.len);

	memcpy(to, from.data, from.len);
	return (struct bytes){ to, from.len };
}

/* There is room. */
void model_put(struct model *model, struct bytes key, struct bytes value)
{
	bool found;
	u32 at = model_find(model, key, &found);
	struct record *rec = &model->rec[at];

	if (!found) {
		memmove(rec + 1, rec, (model->nr++ - at) * sizeof(*rec));
		rec->key = keep(key);
	}
	rec->value = keep(value);
}

void model_del(struct model *model, struct bytes key)
{
	bool found;
	u32 at = model_find(model, key, &found);
	struct record *rec = &model->rec[at];

	memmove(rec, rec + 1, (--model->nr - at) * sizeof(*rec));
}

static u8 buf[1U << 20] __attribute__((aligned(8)));

static const u8 *record_at(const u8 *at, struct record *rec)
{
	struct wort_record head;

	memcpy(&head, at, sizeof(head));
	rec->key = (struct bytes){ at + sizeof(head), head.key_len };
	rec->value = (struct bytes){ rec->key.data + head.key_len,
				     head.value_len };
	return at + head.rec_len;
}

/*
 * All that an index holds, from the lowest or the highest key on.  How many records that
 * are, or -EIO: check does not read values, and one of them may lie on a bad page.
 */
static int read_all(struct fuzz *f, struct model *model, bool reverse,
		    struct record *rec)
{
	struct wort_scan scan = {
		.flags = reverse ? WORT_SCAN_F_REVERSE : 0,
		.buf = buf, .buf_len = sizeof(buf),
	};
	const u8 *at = buf;
	int err = wort_index_scan(model->index, &scan);
	u32 i;

	if (err == -EIO && wort_region_any_bad(&f->region))
		return err;
	if (err || scan.more || scan.count > MODEL_RECORDS)
		finding(f, "a scan of a clean index: %d, %llu records%s", err,
			(unsigned long long)scan.count,
			scan.more ? " and more" : "");
	for (i = 0; i < scan.count; i++)
		at = record_at(at, &rec[i]);
	return scan.count;
}

int model_load(struct fuzz *f, struct model *model)
{
	int nr = read_all(f, model, false, model->rec);
	u32 i;

	if (nr < 0)
		return nr;
	model->nr = nr;
	for (i = 0; i < model->nr; i++) {
		if (i && compare(model->rec[i - 1].key, model->rec[i].key) >= 0)
			finding(f, "keys of a clean index do not increase");
		model->rec[i].key = keep(model->rec[i].key);
		model->rec[i].value = keep(model->rec[i].value);
	}
	return 0;
}

void model_compare(struct fuzz *f, struct model *model, bool reverse)
{
	static struct record now[MODEL_RECORDS];
	const struct record *rec;
	int nr = read_all(f, model, reverse, now);
	u32 i;

	if (nr != model->nr)
		finding(f, "%d records, should be %u", nr, model->nr);
	for (i = 0; i < model->nr; i++) {
		rec = &model->rec[reverse ? nr - 1 - i : i];
		if (compare(now[i].key, rec->key))
			finding(f, "record %u has another key", i);
		if (compare(now[i].value, rec->value))
			finding(f, "record %u has another value", i);
	}
}
