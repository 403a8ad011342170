// Checks that looking for an agent locks none out, even if another thread forks meanwhile.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "location.h"

static pid_t child;

// Forks, as another thread may, at the moment when the file is locked.
int flock(int file, int operation) {
    int result = (int)syscall(SYS_flock, file, operation);
    if (result != 0 || !(operation & LOCK_SH)) return result;
    child = fork();
    while (child == 0) pause();
    return result;
}

int main(void) {
    char directory[] = "/tmp/locks.XXXXXX";
    if (!mkdtemp(directory)) return 1;
    g_setenv("DEFAULTS_DIRECTORY", directory, TRUE);
    g_setenv("DEFAULTSD_SOCKET", "/nonexistent/socket", TRUE);
    g_autofree char *claim = g_strconcat(directory, "/.defaultsd.agent", NULL), *problem = NULL;
    g_assert_true(g_file_set_contents(claim, "1\nhost\n/nonexistent/socket\n", -1, NULL));
    gint64 wait = 0;
    Location *location = location_find(&wait, &problem);
    Connection connection;
    g_assert_false(location_connect(location, &connection));
    g_assert_false(connection.is_claimed);
    g_assert_cmpint(child, >, 0);
    int file = open(claim, O_RDONLY);
    int result = flock(file, LOCK_EX | LOCK_NB);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    g_assert_cmpint(result, ==, 0);
    g_assert_false(location_connect(location, &connection));
    g_assert_true(connection.is_claimed);
    close(file);
    location_free(location);
    unlink(claim);
    rmdir(directory);
    puts("an agent can start");
    return 0;
}
