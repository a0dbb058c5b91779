// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/swap.h>
#include <unistd.h>

#include <zfolio/zram.h>

#define CONTROL "sys/class/zram-control/"

/* A file of the device in sysfs, or its node in devtmpfs. */
static const char *file_of(const struct zf_zram *zram, const char *file,
			   char name[static 64])
{
	snprintf(name, 64, "sys/block/zram%u/%s", zram->number, file);
	return name;
}

static const char *node_of(const struct zf_zram *zram, char name[static 64])
{
	snprintf(name, 64, "/dev/zram%u", zram->number);
	return name;
}

/* What mkswap(8) writes: a version, the last page, and the signature. */
static int write_header(const char *node, uint64_t bytes)
{
	struct {
		char boot[1024];
		uint32_t version;
		uint32_t last_page;
	} header = { .version = 1 };
	const size_t page_size = sysconf(_SC_PAGESIZE);
	_cleanup_close_ int fd = open(node, O_WRONLY | O_CLOEXEC);

	header.last_page = bytes / page_size - 1;
	if (fd < 0)
		return -errno;
	if (pwrite(fd, &header, sizeof(header), 0) < 0 ||
	    pwrite(fd, "SWAPSPACE2", 10, page_size - 10) < 0 || fsync(fd))
		return -errno;
	return 0;
}

static int remove_device(struct zf_zram *zram)
{
	char name[64], number[16];
	int r = zf_path_write(zram->sys, file_of(zram, "reset", name), "1");

	snprintf(number, sizeof(number), "%u", zram->number);
	if (r >= 0)
		r = zf_path_write(zram->sys, CONTROL "hot_remove", number);
	return r < 0 ? r : 0;
}

static int set_up(struct zf_zram *zram, const char *compressor, uint64_t bytes)
{
	char name[64], size[32];
	int r;

	snprintf(size, sizeof(size), "%" PRIu64, bytes);
	r = zf_path_write(zram->sys, file_of(zram, "comp_algorithm", name),
			  compressor);
	if (r >= 0)
		r = zf_path_write(zram->sys, file_of(zram, "disksize", name),
				  size);
	if (r >= 0)
		r = write_header(node_of(zram, name), bytes);
	if (r < 0)
		return r;
	if (swapon(node_of(zram, name), SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK))
		return -errno;
	return 0;
}

int zf_zram_swapon(const struct zf_path *sys, const char *compressor,
		   uint64_t bytes, struct zf_zram *ret_zram)
{
	struct zf_zram zram = { .sys = sys };
	uint64_t number;
	int r;

	/* Reading this file makes the device. */
	r = zf_path_read_u64(sys, CONTROL "hot_add", &number);
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r < 0)
		return r;
	zram.number = number;
	r = set_up(&zram, compressor, bytes);
	if (r < 0) {
		remove_device(&zram);
		return r;
	}
	*ret_zram = zram;
	return 0;
}

int zf_zram_swapoff(struct zf_zram *zram)
{
	char name[64];
	int r = swapoff(node_of(zram, name)) ? -errno : 0;
	int removed = remove_device(zram);

	return r < 0 ? r : removed;
}
