// Gives GLib's locks to the thread sanitizer, which doesn't know them: included before a file that uses them.
#pragma once

#define _GNU_SOURCE
#include <glib.h>
#include <pthread.h>

#define GMutex pthread_mutex_t
#define GCond pthread_cond_t
#define g_mutex_init(lock) pthread_mutex_init(lock, NULL)
#define g_mutex_clear pthread_mutex_destroy
#define g_mutex_lock pthread_mutex_lock
#define g_mutex_unlock pthread_mutex_unlock
#define g_cond_init init_condition
#define g_cond_clear pthread_cond_destroy
#define g_cond_broadcast pthread_cond_broadcast
#define g_cond_wait_until wait_until_time
#undef g_atomic_int_inc
#undef g_atomic_int_add
#undef g_atomic_int_dec_and_test
#define g_atomic_int_inc(number) __atomic_fetch_add(number, 1, __ATOMIC_SEQ_CST)
#define g_atomic_int_add(number, summand) __atomic_fetch_add(number, summand, __ATOMIC_SEQ_CST)
#define g_atomic_int_dec_and_test(number) (__atomic_fetch_sub(number, 1, __ATOMIC_SEQ_CST) == 1)

static inline void init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
}

static inline gboolean wait_until_time(pthread_cond_t *condition, pthread_mutex_t *lock, gint64 end) {
    struct timespec time = {end / G_USEC_PER_SEC, end % G_USEC_PER_SEC * 1000};
    return pthread_cond_timedwait(condition, lock, &time) == 0;
}
