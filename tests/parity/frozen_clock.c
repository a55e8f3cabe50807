/* Preloaded into the reference's process: its wall clock shows what the test sets.

   The reference reads the wall clock on every verb and offers no way to inject one. Only the two
   real-time clocks are replaced; every other clock, and these until one is set, is the kernel's. */
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t frozen_ms = -1;

void freeze_clock(int64_t ms) { frozen_ms = ms; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int64_t ms = frozen_ms;
    if (ms < 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
        return (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec = ms / 1000;
    now->tv_nsec = (ms % 1000) * 1000000;
    return 0;
}
