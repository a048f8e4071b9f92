// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The control device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct wort_ctl {
	int fd;
};

WORT_API int wort_ctl_open(struct wort_ctl **out)
{
	struct wort_ctl *ctl = malloc(sizeof(*ctl));

	if (!ctl)
		return -ENOMEM;
	ctl->fd = wort_open_path(WORT_CONTROL_PATH, O_RDWR);
	if (ctl->fd < 0) {
		int err = ctl->fd;

		free(ctl);
		return err;
	}
	*out = ctl;
	return 0;
}

WORT_API void wort_ctl_close(struct wort_ctl *ctl)
{
	if (!ctl)
		return;
	close(ctl->fd);
	free(ctl);
}

int wort_format_read(struct wort_format_arg *arg, const struct wort_format_opts *opts)
{
	struct wort_format_opts o;
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	*arg = (struct wort_format_arg){
		.size = sizeof(*arg), .flags = o.flags, .extent_size = o.extent_size,
	};
	if (o.uuid)
		memcpy(arg->uuid, o.uuid, sizeof(arg->uuid));
	if (o.label) {
		if (strlen(o.label) >= sizeof(arg->label))
			return -EMSGSIZE;
		memcpy(arg->label, o.label, strlen(o.label));
	}
	return 0;
}

WORT_API int wort_ctl_format(struct wort_ctl *ctl, const char *device,
			     const struct wort_format_opts *opts)
{
	struct wort_format_arg arg;
	int err = wort_format_read(&arg, opts);

	if (err)
		return err;
	arg.dev_ptr = wort_ptr(device);
	arg.dev_len = wort_name_len(device, WORT_DEVICE_MAX);
	return wort_ioctl(ctl->fd, WORT_IOC_FORMAT, &arg);
}

WORT_API int wort_ctl_attach(struct wort_ctl *ctl, const char *device,
			     uint32_t flags, unsigned int *minor)
{
	struct wort_attach_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.dev_ptr = wort_ptr(device),
		.dev_len = wort_name_len(device, WORT_DEVICE_MAX),
	};
	int err = wort_ioctl(ctl->fd, WORT_IOC_ATTACH, &arg);

	if (!err)
		*minor = arg.out_minor;
	return err;
}

WORT_API int wort_ctl_detach(struct wort_ctl *ctl, unsigned int minor)
{
	struct wort_detach_arg arg = {
		.size = sizeof(arg),
		.minor = minor,
	};

	return wort_ioctl(ctl->fd, WORT_IOC_DETACH, &arg);
}

WORT_API int wort_ctl_list(struct wort_ctl *ctl, unsigned int start,
			   struct wort_pool_record *records, unsigned int max,
			   bool *more)
{
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = wort_ptr(records),
		.start = start,
	};
	int err;

	if (max > WORT_BUF_MAX / sizeof(*records))
		max = WORT_BUF_MAX / sizeof(*records);
	arg.buf_len = max * sizeof(*records);
	err = wort_ioctl(ctl->fd, WORT_IOC_LIST, &arg);
	if (err)
		return err;
	*more = arg.out_more;
	return arg.out_count;
}
