#include "CFork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: Gates

enum state { open, closed, fresh_child };

/// The number of counters per gate, a power of two. Threads that share a cache line slow each other down.
enum { stripes = 16 };

struct stripe {
    _Alignas(64) atomic_long inside;
};

static struct gate {
    struct stripe stripes[stripes];
    _Atomic(enum state) state;
} gates[2];

/// The number of times that this thread has entered each gate and not yet left it.
static _Thread_local unsigned depth[2];

/// Held by the thread that forks or starts over; never acquired inside a gate.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/// Signaled when a thread leaves a closed gate, and when a gate is opened.
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void (*_Atomic start_over)(void);

static atomic_long *own_count(enum fork_gate gate) {
    // Thread control blocks are a few pages apart.
    unsigned long thread = (unsigned long)pthread_self() >> 12;
    return &gates[gate].stripes[(thread ^ thread >> 7) & (stripes - 1)].inside;
}

static void wake_waiting(void) {
    pthread_mutex_lock(&waiting);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&waiting);
}

static void start_over_once(void) {
    pthread_mutex_lock(&turn);
    if (atomic_load(&gates[fork_gate_lock].state) == fresh_child) {
        // This thread may acquire locks; all others wait for `turn`.
        depth[fork_gate_lock] += 1;
        if (start_over != NULL) start_over();
        depth[fork_gate_lock] -= 1;
        atomic_store(&gates[fork_gate_lock].state, open);
    }
    pthread_mutex_unlock(&turn);
}

static void wait_outside(enum fork_gate gate) {
    pthread_mutex_lock(&waiting);
    pthread_cond_broadcast(&changed);
    while (atomic_load(&gates[gate].state) == closed) pthread_cond_wait(&changed, &waiting);
    pthread_mutex_unlock(&waiting);
}

void fork_enter(enum fork_gate gate) {
    // Start over before entering: inside the gate, a fork would wait for this thread, which would wait for `turn`.
    if (gate == fork_gate_work && fork_is_fresh_child()) start_over_once();
    if (depth[gate]++ > 0) return;
    atomic_long *count = own_count(gate);
    // Both sides write before they read: either this thread sees that the gate is closed, or the fork sees this thread.
    atomic_fetch_add(count, 1);
    enum state state;
    while (__builtin_expect((state = atomic_load(&gates[gate].state)) != open, 0)) {
        atomic_fetch_sub(count, 1);
        if (state == closed) wait_outside(gate); else start_over_once();
        atomic_fetch_add(count, 1);
    }
}

void fork_leave(enum fork_gate gate) {
    if (--depth[gate] > 0) return;
    atomic_fetch_sub(own_count(gate), 1);
    if (__builtin_expect(atomic_load(&gates[gate].state) == closed, 0)) wake_waiting();
}

bool fork_is_locked(void) { return depth[fork_gate_lock] > 0; }

bool fork_is_fresh_child(void) {
    return atomic_load_explicit(&gates[fork_gate_lock].state, memory_order_relaxed) == fresh_child;
}

void fork_start_over_with(void (*function)(void)) {
    fork_enter(fork_gate_lock);
    start_over = function;
    fork_leave(fork_gate_lock);
}

/// The process's id; 0 until it is first needed.
static _Atomic(pid_t) pid;

pid_t fork_pid(void) {
    pid_t known = atomic_load_explicit(&pid, memory_order_relaxed);
    if (known == 0) {
        known = getpid();
        atomic_store_explicit(&pid, known, memory_order_relaxed);
    }
    return known;
}

static _Thread_local void *transaction;

void *fork_transaction(void) { return transaction; }

void fork_set_transaction(void *new) { transaction = new; }

static _Thread_local bool is_reporting;

bool fork_is_reporting(void) { return is_reporting; }

void fork_set_reporting(bool new) { is_reporting = new; }

// MARK: Resources released in children

/// Protects both lists. It is acquired only inside the lock gate, so it is free during a fork.
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;

static struct {
    int *numbers;
    size_t count, capacity;
} descriptors;

/// The header of a memory block that is zeroed in children.
struct zeroed {
    _Alignas(64) struct zeroed *next;
    struct zeroed *previous;
    size_t size;
};

static struct zeroed *first_zeroed;

static void lock_lists(void) {
    fork_enter(fork_gate_lock);
    pthread_mutex_lock(&lists);
}

static void unlock_lists(void) {
    pthread_mutex_unlock(&lists);
    fork_leave(fork_gate_lock);
}

void fork_close_in_child(int fd) {
    if (fd < 0) return;
    lock_lists();
    if (descriptors.count == descriptors.capacity) {
        size_t capacity = descriptors.capacity == 0 ? 8 : 2 * descriptors.capacity;
        int *numbers = realloc(descriptors.numbers, capacity * sizeof *numbers);
        if (numbers != NULL) {
            descriptors.numbers = numbers;
            descriptors.capacity = capacity;
        }
    }
    if (descriptors.count < descriptors.capacity) descriptors.numbers[descriptors.count++] = fd;
    unlock_lists();
}

void fork_keep_in_child(int fd) {
    lock_lists();
    for (size_t index = 0; index < descriptors.count; index += 1) {
        if (descriptors.numbers[index] == fd) {
            descriptors.numbers[index] = descriptors.numbers[--descriptors.count];
            break;
        }
    }
    unlock_lists();
}

void *_Nonnull fork_allocate_zeroed_in_child(size_t size) {
    size_t whole = sizeof(struct zeroed) + (size + 63) / 64 * 64;
    struct zeroed *head = aligned_alloc(64, whole);
    if (head == NULL) abort();
    memset(head, 0, whole);
    head->size = size;
    lock_lists();
    head->next = first_zeroed;
    if (first_zeroed != NULL) first_zeroed->previous = head;
    first_zeroed = head;
    unlock_lists();
    return head + 1;
}

void fork_free_zeroed_in_child(void *_Nonnull memory) {
    struct zeroed *head = (struct zeroed *)memory - 1;
    lock_lists();
    if (head->next != NULL) head->next->previous = head->previous;
    if (head->previous != NULL) head->previous->next = head->next; else first_zeroed = head->next;
    unlock_lists();
    free(head);
}

// MARK: Forking

/// The state of the lock gate before the fork.
static enum state state_before;

static enum state close_gate(enum fork_gate gate) {
    enum state before = atomic_exchange(&gates[gate].state, closed);
    // A thread that forks inside a gate doesn't wait for itself.
    long own = depth[gate] > 0;
    pthread_mutex_lock(&waiting);
    for (;;) {
        long inside = 0;
        for (int stripe = 0; stripe < stripes; stripe += 1) inside += atomic_load(&gates[gate].stripes[stripe].inside);
        if (inside == own) break;
        pthread_cond_wait(&changed, &waiting);
    }
    pthread_mutex_unlock(&waiting);
    // Other fork handlers on this thread may use the library.
    depth[gate] += 1;
    return before;
}

static void open_gates(enum state locks) {
    depth[fork_gate_work] -= 1;
    depth[fork_gate_lock] -= 1;
    atomic_store(&gates[fork_gate_work].state, open);
    atomic_store(&gates[fork_gate_lock].state, locks);
    wake_waiting();
    pthread_mutex_unlock(&turn);
}

static void prepare(void) {
    pthread_mutex_lock(&turn);
    close_gate(fork_gate_work);
    state_before = close_gate(fork_gate_lock);
}

static void parent(void) { open_gates(state_before); }

static void child(void) {
    // Nothing here allocates or waits for a lock, because most children exec immediately. The rest is done when the
    // child uses the library.
    waiting = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_store(&pid, 0);
    for (enum fork_gate gate = fork_gate_work; gate <= fork_gate_lock; gate += 1) {
        // A thread may have counted itself before it saw that the gate was closed.
        memset(gates[gate].stripes, 0, sizeof gates[gate].stripes);
        if (depth[gate] > 1) atomic_store(own_count(gate), 1);
    }
    for (size_t index = 0; index < descriptors.count; index += 1) close(descriptors.numbers[index]);
    descriptors.count = 0;
    for (struct zeroed *head = first_zeroed; head != NULL; head = head->next) memset(head + 1, 0, head->size);
    open_gates(fresh_child);
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(prepare, parent, child); }
