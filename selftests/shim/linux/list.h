/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_LIST_H
#define _SHIM_LIST_H

#include <linux/kernel.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void __list_insert(struct list_head *entry,
				 struct list_head *prev, struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	prev->next = entry;
	next->prev = entry;
}

static inline void list_add(struct list_head *entry, struct list_head *list)
{
	__list_insert(entry, list, list->next);
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *list)
{
	__list_insert(entry, list->prev, list);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_del(struct list_head *entry)
{
	list_del_init(entry);
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

static inline void list_splice_init(struct list_head *from,
				    struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	INIT_LIST_HEAD(from);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, typeof(*(pos)), member)
#define list_for_each_entry_from(pos, head, member)			\
	for (; &(pos)->member != (head); pos = list_next_entry(pos, member))
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_entry((head)->next, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, tmp, head, member)		\
	for (pos = list_entry((head)->next, __typeof__(*pos), member),	\
	     tmp = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);					\
	     pos = tmp,							\
	     tmp = list_entry(tmp->member.next, __typeof__(*pos), member))

#endif
