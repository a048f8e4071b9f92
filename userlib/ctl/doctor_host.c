// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort doctor on the machine: the module, who may use it, Secure Boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "sysfs.h"

#define CONTROL	"/dev/wort-control"
#define SECURE_BOOT \
	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define SIGNATURE	"~Module signature appended~\n"
#define MOK		"/var/lib/dkms/mok"
#define ENROL		"mokutil --import " MOK ".pub    # "

/* release: of the kernel; file: of the module, below its folder, or empty */
static struct {
	char release[128];
	char file[PATH_MAX];
} host;

static bool installed_for(const char *release, char *file, size_t size)
{
	FILE *deps = fopen(sys_path("/lib/modules/%s/modules.dep", release),
			   "r");
	char line[PATH_MAX], *colon, *base;
	bool found = false;

	while (deps && !found && fgets(line, sizeof(line), deps)) {
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = 0;
		base = strrchr(line, '/');
		base = base ? base + 1 : line;
		found = !strncmp(base, "wort.ko", 7);
	}
	if (deps)
		fclose(deps);
	if (found && strlen(line) < size)
		strcpy(file, line);
	return found;
}

static bool other_kernel(const char *release, void *data)
{
	char file[PATH_MAX];

	if (!installed_for(release, file, sizeof(file)))
		return false;
	snprintf(data, sizeof(host.release), "%s", release);
	return true;
}

/* DKMS builds for no others. */
static bool kernel_fits(void)
{
	static const unsigned int tried[][2] = { { 6, 1 }, { 6, 12 }, { 7, 3 } };
	unsigned int major = 0, minor = 0, i;

	if (sscanf(host.release, "%u.%u", &major, &minor) != 2)
		return true;
	for (i = 0; i < sizeof(tried) / sizeof(*tried); i++)
		if (major == tried[i][0] && minor == tried[i][1])
			return true;
	return false;
}

/* @version: told. */
static bool is_dkms_source(const char *name, void *version)
{
	if (strncmp(name, "wort-", 5) || !sys_exists("/usr/src/%s/dkms.conf", name))
		return false;
	snprintf(version, SYS_NAME, "%s", name + 5);
	return true;
}

static void not_installed(void)
{
	char other[sizeof(host.release)], version[SYS_NAME], remedy[512];

	if (!kernel_fits()) {
		report(PROBLEM, "module",
		       "apt install linux-image-amd64    # and reboot",
		       "none is built for the kernel %s: it was tried on Linux 6.1, 6.12 and 7.3",
		       host.release);
		return;
	}
	if (sys_each("/lib/modules", other_kernel, other)) {
		snprintf(remedy, sizeof(remedy),
			 "apt install linux-headers-%s && dkms autoinstall -k %s",
			 host.release, host.release);
		report(PROBLEM, "module", remedy,
		       "installed for the kernel %s, not for %s, which runs",
		       other, host.release);
		return;
	}
	if (sys_each("/usr/src", is_dkms_source, version)) {
		snprintf(remedy, sizeof(remedy),
			 "apt install linux-headers-%s && dkms install wort/%s",
			 host.release, version);
		report(PROBLEM, "module", remedy,
		       "its source is here, but was not built for the kernel %s",
		       host.release);
		return;
	}
	report(PROBLEM, "module",
	       "apt install ./wort-dkms_*.deb    # or: make modules && make modules_install && depmod",
	       "not installed for the kernel %s", host.release);
}

/* Without the device the module is not loaded, or /dev is not the kernel's. */
static void check_module(void)
{
	if (sys_exists(CONTROL))
		report(FINE, "module", NULL, "loaded");
	else if (sys_exists("/sys/module/wort"))
		report(PROBLEM, "module",
		       "udevadm trigger -c add -s misc    # in a container: pass the device in",
		       "loaded, but " CONTROL " is missing");
	else if (*host.file)
		report(PROBLEM, "module", "modprobe wort", "not loaded");
	else
		not_installed();
}

static int try_recorded(void)
{
	int fd = open(sys_path(CONTROL), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Root without the capability can open the device, and that is all. */
static int try_control(void)
{
	struct wort_pool_record record;
	struct wort_ctl *ctl;
	int err = wort_ctl_open(&ctl);
	bool more;

	if (err)
		return err;
	err = wort_ctl_list(ctl, 0, &record, 1, &more);
	wort_ctl_close(ctl);
	return err < 0 ? err : 0;
}

static void check_permission(const struct device *dev)
{
	char remedy[5 * PATH_MAX];
	int err;

	if (!sys_exists(CONTROL))
		return;
	err = sys_recorded() ? try_recorded() : try_control();
	if (!err)
		return;
	snprintf(remedy, sizeof(remedy), "sudo wort doctor %s",
		 shell_word(dev->path));
	report(PROBLEM, "permission", remedy,
	       CONTROL ": %s: format and attach take root (CAP_SYS_ADMIN)",
	       strerror(-err));
}

static bool secure_boot(void)
{
	unsigned char var[5] = { };
	FILE *file = fopen(sys_path(SECURE_BOOT), "r");
	bool on;

	if (!file)
		return false;
	/* Four bytes of attributes, then the variable. */
	on = fread(var, sizeof(var), 1, file) == 1 && var[4] == 1;
	fclose(file);
	return on;
}

/* Does the kernel refuse modules that are not signed? */
static bool signatures_enforced(void)
{
	char line[128], *mark;

	if (sys_line(line, sizeof(line),
		     "/sys/module/module/parameters/sig_enforce") &&
	    *line == 'Y')
		return true;
	sys_line(line, sizeof(line), "/sys/kernel/security/lockdown");
	mark = strchr(line, '[');
	return mark && strncmp(mark, "[none]", 6);
}

/* Of a compressed module nothing is seen. */
static bool module_unsigned(void)
{
	const char *end = strrchr(host.file, '.');
	char tail[sizeof(SIGNATURE)] = "";
	FILE *file;
	bool read;

	if (!end || strcmp(end, ".ko"))
		return false;
	file = fopen(sys_path("/lib/modules/%s/%s", host.release, host.file),
		     "r");
	if (!file)
		return false;
	read = !fseek(file, -(long)strlen(SIGNATURE), SEEK_END) &&
	       fread(tail, strlen(SIGNATURE), 1, file) == 1;
	fclose(file);
	return !read || strcmp(tail, SIGNATURE);
}

static void signature_needed(void)
{
	char remedy[2 * PATH_MAX];

	if (!module_unsigned()) {
		report(NOTE, "secure boot",
		       ENROL "if modprobe says that the key was rejected; then reboot",
		       "on: the key that signed the module must be enrolled");
		return;
	}
	snprintf(remedy, sizeof(remedy),
		 "/usr/src/linux-headers-%s/scripts/sign-file sha256 "
		 MOK ".key " MOK ".pub /lib/modules/%s/%s && "
		 ENROL "and reboot", host.release, host.release, host.file);
	report(PROBLEM, "secure boot", remedy,
	       "on, and the module is not signed: the kernel will refuse it");
}

static void check_secure_boot(void)
{
	bool loaded = sys_exists("/sys/module/wort") || sys_exists(CONTROL);

	if (!signatures_enforced())
		report(FINE, "secure boot", NULL, "%s", secure_boot() ?
		       "on, but the kernel takes unsigned modules" : "off");
	else if (loaded)
		report(FINE, "secure boot", NULL,
		       "on, and the module was accepted");
	else if (*host.file)
		signature_needed();
	else
		report(NOTE, "secure boot", NULL,
		       "on: the module has to be signed; DKMS does that, with " MOK ".key");
}

void doctor_host(const struct device *dev)
{
	sys_line(host.release, sizeof(host.release),
		 "/proc/sys/kernel/osrelease");
	installed_for(host.release, host.file, sizeof(host.file));
	check_module();
	check_permission(dev);
	check_secure_boot();
}
