/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_HASHTABLE_H
#define _SHIM_HASHTABLE_H

#include <linux/kernel.h>

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]

#define hash_init(table) memset(table, 0, sizeof(table))

#define __hash_bucket(table, key) (&(table)[(key) % ARRAY_SIZE(table)])

#define hash_add(table, node, key) \
	hlist_add_head(node, __hash_bucket(table, key))

#define hash_for_each_possible(table, obj, member, key)			\
	for (struct hlist_node *__n = __hash_bucket(table, key)->first;	\
	     __n && (obj = container_of(__n, __typeof__(*obj), member), 1); \
	     __n = __n->next)

static inline void hlist_add_head(struct hlist_node *node,
				  struct hlist_head *head)
{
	node->next = head->first;
	if (head->first)
		head->first->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

static inline void hash_del(struct hlist_node *node)
{
	if (!node->pprev)
		return;
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	node->pprev = NULL;
}

#endif
