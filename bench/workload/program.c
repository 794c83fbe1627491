/*
 * The programs of `npm run bench -- workload`, in one file that runs in a container without anything else:
 *
 *   program calibrate US                                         prints the iterations that take so long on a CPU of its own
 *   program serve PERIOD_US ITERATIONS WARM_UP_MS REQUESTS_MS UNITS_MS THREADS
 *   program burn ITERATIONS REPORT_MS THREADS                    works without a pause, and tells how far it is
 *   program write FILE                                           writes 4 kB again and again, each time to the disk itself
 *
 * A unit of work is a number of iterations that touch no memory, so that it takes the same CPU time everywhere. All times are of
 * CLOCK_MONOTONIC, which all containers share.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const int64_t NS_PER_S = 1000000000;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_until(int64_t ns) {
  const struct timespec at = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
  }
}

static volatile uint64_t sink;

static void work(int64_t iterations) {
  uint64_t x = 88172645463325252ULL;
  for (int64_t i = 0; i < iterations; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  sink = x;
}

/* The least of many tries: whoever disturbs a try only makes it longer. */
static void calibrate(int64_t us) {
  const int64_t iterations = 20000;
  int64_t least = INT64_MAX;
  for (int i = 0; i < 2000; i++) {
    const int64_t start = now_ns();
    work(iterations);
    const int64_t took = now_ns() - start;
    if (took < least) least = took;
  }
  printf("%lld\n", (long long)(us * 1000 * iterations / least));
}

static void *work_forever(void *iterations) {
  for (;;) work(*(int64_t *)iterations);
  return NULL;
}

/*
 * Requests arrive each period. The response time of each counts from its arrival, also where the one before it was late: a pause of
 * the process is a long response for all that arrived in it.
 */
static void answer(int64_t period_ns, int64_t iterations, int64_t count, int64_t *response_ns) {
  const int64_t start = now_ns() + period_ns;
  for (int64_t i = 0; i < count; i++) {
    const int64_t arrival = start + i * period_ns;
    if (now_ns() < arrival) sleep_until(arrival);
    work(iterations);
    response_ns[i] = now_ns() - arrival;
  }
}

static void serve(int64_t period_us, int64_t iterations, int64_t warm_up_ms, int64_t requests_ms, int64_t units_ms,
                  int threads) {
  const int64_t period_ns = period_us * 1000;
  const int64_t count = requests_ms * 1000 / period_us;
  const int64_t warm_up = warm_up_ms * 1000 / period_us;
  const int64_t slots = (count > warm_up ? count : warm_up) + 1;
  int64_t *response_ns = malloc(slots * sizeof *response_ns);
  if (response_ns == NULL) exit(1);
  memset(response_ns, 0, slots * sizeof *response_ns); /* no page is missing later */
  for (int i = 1; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_forever, &iterations) != 0) exit(1);
  }
  answer(period_ns, iterations, warm_up, response_ns);

  const int64_t from = now_ns();
  answer(period_ns, iterations, count, response_ns);
  const int64_t to = now_ns();

  const int64_t end = to + units_ms * 1000000;
  int64_t units = 0;
  int64_t now = to;
  for (; now < end; now = now_ns()) {
    work(iterations);
    units++;
  }

  printf("{\"requests\":{\"fromNs\":%lld,\"toNs\":%lld,\"responseNs\":[", (long long)from, (long long)to);
  for (int64_t i = 0; i < count; i++) printf(i == 0 ? "%lld" : ",%lld", (long long)response_ns[i]);
  printf("]},\"work\":{\"fromNs\":%lld,\"toNs\":%lld,\"units\":%lld}}\n", (long long)to, (long long)now,
         (long long)units);
  fflush(stdout);
  for (;;) pause(); /* its cgroup is there until it is removed */
}

/* Units that each thread of `burn` has done, on a cache line of its own. */
static struct {
  _Alignas(64) volatile int64_t units;
} done[256];
static int64_t burn_iterations;

static void *burn_forever(void *thread) {
  for (;;) {
    work(burn_iterations);
    done[(intptr_t)thread].units++;
  }
  return NULL;
}

static void burn(int64_t iterations, int64_t report_ms, int threads) {
  if (threads < 1 || threads > 256) exit(1);
  burn_iterations = iterations;
  for (int i = 1; i < threads; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, burn_forever, (void *)(intptr_t)i) != 0) exit(1);
  }
  for (int64_t next = 0;;) {
    const int64_t now = now_ns();
    if (now >= next) {
      int64_t units = 0;
      for (int i = 0; i < threads; i++) units += done[i].units;
      printf("{\"ns\":%lld,\"units\":%lld}\n", (long long)now, (long long)units);
      fflush(stdout);
      next = now + report_ms * 1000000;
    }
    work(iterations);
    done[0].units++;
  }
}

static void write_through(const char *file) {
  static char block[4096];
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* it is no container, which its runtime would end */
  const int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) exit(1);
  for (;;) {
    if (pwrite(fd, block, sizeof block, 0) != sizeof block || fdatasync(fd) != 0) exit(1);
  }
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  int64_t numbers[6] = {0};
  for (int i = 0; i < 6 && i + 2 < argc; i++) numbers[i] = atoll(argv[i + 2]);
  if (strcmp(name, "calibrate") == 0 && argc == 3) {
    calibrate(numbers[0]);
    return 0;
  }
  if (strcmp(name, "serve") == 0 && argc == 8)
    serve(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], (int)numbers[5]);
  if (strcmp(name, "burn") == 0 && argc == 5) burn(numbers[0], numbers[1], (int)numbers[2]);
  if (strcmp(name, "write") == 0 && argc == 3) write_through(argv[2]);
  fprintf(stderr, "usage: program calibrate|serve|burn|write ...\n");
  return 2;
}
