// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file that wort backup writes and wort restore reads: backup_file.h.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backup_file.h"

#define VERSION		1
#define TYPE_END	3

static const char magic[8] = "wortback";

static int prepare(struct backup_file *bf, FILE *file)
{
	bf->file = file;
	bf->nr_indexes = 0;
	bf->nr_records = 0;
	bf->bytes = 0;
	if (!bf->hash)
		bf->hash = XXH3_createState();
	if (!bf->buf)
		bf->buf = malloc(WORT_KEY_MAX + WORT_VALUE_MAX);
	if (!bf->hash || !bf->buf)
		return -ENOMEM;
	XXH3_128bits_reset(bf->hash);
	return 0;
}

void backup_free(struct backup_file *bf)
{
	XXH3_freeState(bf->hash);
	free(bf->buf);
	bf->hash = NULL;
	bf->buf = NULL;
}

/* ---- writing ---- */

static int put(struct backup_file *bf, const void *data, size_t len)
{
	if (!len)
		return 0;
	XXH3_128bits_update(bf->hash, data, len);
	return fwrite(data, len, 1, bf->file) == 1 ? 0 : errno ? -errno : -EIO;
}

static int put32(struct backup_file *bf, uint32_t val)
{
	val = htole32(val);
	return put(bf, &val, sizeof(val));
}

static int put64(struct backup_file *bf, uint64_t val)
{
	val = htole64(val);
	return put(bf, &val, sizeof(val));
}

int backup_begin(struct backup_file *bf, FILE *file)
{
	int err = prepare(bf, file);

	if (!err)
		err = put(bf, magic, sizeof(magic));
	if (!err)
		err = put32(bf, VERSION);
	if (!err)
		err = put32(bf, 0);
	if (!err)
		err = put(bf, bf->uuid, sizeof(bf->uuid));
	if (!err)
		err = put(bf, bf->label, sizeof(bf->label));
	return err ? err : put64(bf, bf->time);
}

int backup_put_index(struct backup_file *bf, const struct backup_item *item)
{
	int err = put32(bf, BACKUP_INDEX);

	if (!err)
		err = put32(bf, item->engine);
	if (!err)
		err = put64(bf, item->attr);
	if (!err)
		err = put32(bf, item->key_len);
	if (!err)
		err = put(bf, item->key, item->key_len);
	bf->nr_indexes++;
	return err;
}

int backup_put_record(struct backup_file *bf, const struct backup_item *item)
{
	int err = put32(bf, BACKUP_RECORD);

	if (!err)
		err = put32(bf, item->key_len);
	if (!err)
		err = put32(bf, item->value_len);
	if (!err)
		err = put(bf, item->key, item->key_len);
	if (!err)
		err = put(bf, item->value, item->value_len);
	bf->nr_records++;
	bf->bytes += item->key_len + item->value_len;
	return err;
}

int backup_end(struct backup_file *bf)
{
	XXH128_canonical_t sum;
	int err = put32(bf, TYPE_END);

	if (!err)
		err = put64(bf, bf->nr_indexes);
	if (!err)
		err = put64(bf, bf->nr_records);
	if (err)
		return err;
	XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(bf->hash));
	return put(bf, &sum, sizeof(sum));
}

/* ---- reading: nothing is trusted ---- */

bool backup_is(const char *path)
{
	FILE *file = fopen(path, "re");
	char found[sizeof(magic)];
	bool is;

	if (!file)
		return false;
	is = fread(found, sizeof(found), 1, file) == 1 && !memcmp(found, magic, sizeof(found));
	fclose(file);
	return is;
}

static int get(struct backup_file *bf, void *data, size_t len)
{
	if (len && fread(data, len, 1, bf->file) != 1)
		return ferror(bf->file) ? -EIO : -EBADMSG;
	XXH3_128bits_update(bf->hash, data, len);
	return 0;
}

static int get32(struct backup_file *bf, uint32_t *val)
{
	int err = get(bf, val, sizeof(*val));

	*val = err ? 0 : le32toh(*val);
	return err;
}

static int get64(struct backup_file *bf, uint64_t *val)
{
	int err = get(bf, val, sizeof(*val));

	*val = err ? 0 : le64toh(*val);
	return err;
}

int backup_open(struct backup_file *bf, FILE *file)
{
	char found[sizeof(magic)];
	uint32_t version = 0, zero;
	int err = prepare(bf, file);

	if (!err)
		err = get(bf, found, sizeof(found));
	if (!err && memcmp(found, magic, sizeof(magic)))
		err = -EBADMSG;
	if (!err)
		err = get32(bf, &version);
	if (!err && version != VERSION)
		err = -EPROTONOSUPPORT;
	if (!err)
		err = get32(bf, &zero);
	if (!err)
		err = get(bf, bf->uuid, sizeof(bf->uuid));
	if (!err)
		err = get(bf, bf->label, sizeof(bf->label));
	return err ? err : get64(bf, &bf->time);
}

static int get_index(struct backup_file *bf, struct backup_item *item)
{
	uint32_t len = 0;
	int err = get32(bf, &item->engine);

	if (!err)
		err = get64(bf, &item->attr);
	if (!err)
		err = get32(bf, &len);
	if (!err && (!len || len > WORT_NAME_MAX))
		err = -EBADMSG;
	if (!err)
		err = get(bf, bf->buf, len);
	if (!err && memchr(bf->buf, 0, len))
		err = -EBADMSG;
	item->key = bf->buf;
	item->key_len = len;
	bf->nr_indexes++;
	return err ? err : BACKUP_INDEX;
}

static int get_record(struct backup_file *bf, struct backup_item *item)
{
	uint32_t key_len = 0, value_len = 0;
	int err = bf->nr_indexes ? get32(bf, &key_len) : -EBADMSG;

	if (!err)
		err = get32(bf, &value_len);
	if (!err && (!key_len || key_len > WORT_KEY_MAX ||
		     value_len > WORT_VALUE_MAX))
		err = -EBADMSG;
	if (!err)
		err = get(bf, bf->buf, key_len + value_len);
	item->key = bf->buf;
	item->key_len = key_len;
	item->value = bf->buf + key_len;
	item->value_len = value_len;
	bf->nr_records++;
	bf->bytes += key_len + value_len;
	return err ? err : BACKUP_RECORD;
}

static int get_end(struct backup_file *bf)
{
	XXH128_canonical_t sum, found;
	uint64_t nr_indexes, nr_records = 0;
	int err = get64(bf, &nr_indexes);

	if (!err)
		err = get64(bf, &nr_records);
	if (err)
		return err;
	XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(bf->hash));
	err = get(bf, &found, sizeof(found));
	if (err)
		return err;
	if (memcmp(&sum, &found, sizeof(sum)) || nr_indexes != bf->nr_indexes ||
	    nr_records != bf->nr_records || getc(bf->file) != EOF)
		return -EBADMSG;
	return ferror(bf->file) ? -EIO : BACKUP_END;
}

int backup_next(struct backup_file *bf, struct backup_item *item)
{
	uint32_t type;
	int err = get32(bf, &type);

	*item = (struct backup_item) { };
	if (err)
		return err;
	switch (type) {
	case BACKUP_INDEX:
		return get_index(bf, item);
	case BACKUP_RECORD:
		return get_record(bf, item);
	case TYPE_END:
		return get_end(bf);
	default:
		return -EBADMSG;
	}
}
