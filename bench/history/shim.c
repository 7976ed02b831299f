/* Stands between a service and its system: its clock is wrong, and its disk fails, as a control file says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The same layout as in service.py. An error of 0 is none. */
struct control {
    int64_t offset_ns;
    int32_t write_error;
    int32_t sync_error;
};

static volatile struct control *control;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv("BENCH_HISTORY_CONTROL");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *found = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) control = found;
}

static void shift(struct timespec *now) {
    if (control == NULL) return;
    int64_t ns = now->tv_sec * 1000000000LL + now->tv_nsec + control->offset_ns;
    now->tv_sec = ns / 1000000000LL;
    now->tv_nsec = ns % 1000000000LL;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, now);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) shift(now);
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

static int fails(int32_t error) {
    if (error) errno = error;
    return error != 0;
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite");
    return control && fails(control->write_error) ? -1 : real(file, data, size, at);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite64");
    return control && fails(control->write_error) ? -1 : real(file, data, size, at);
}

int fsync(int file) {
    static int (*real)(int);
    if (real == NULL) real = dlsym(RTLD_NEXT, "fsync");
    return control && fails(control->sync_error) ? -1 : real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
    return control && fails(control->sync_error) ? -1 : real(file);
}
