// Prints the values of a domain, and then each change: a client of the agent in C, on libplist.
//
//     cc -Wall -Wextra follow.c -o follow $(pkg-config --cflags --libs libplist-2.0)
//     ./follow org.example.editor
//
// After the agent's restart, it goes on where it was.
#include <arpa/inet.h>
#include <plist/plist.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Returns a connection to the agent; -1 if none listens.
static int connect_to_agent(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FILE *command = popen("defaults socket", "r");
    if (!command || !fgets(address.sun_path, sizeof(address.sun_path), command)) exit(1);
    pclose(command);
    address.sun_path[strcspn(address.sun_path, "\n")] = 0;
    int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(agent, (struct sockaddr *)&address, sizeof(address)) == 0) return agent;
    close(agent);
    return -1;
}

// Sends a message, and frees it.
static bool send_message(int agent, plist_t message) {
    char *body = NULL;
    uint32_t size = 0;
    plist_to_bin(message, &body, &size);
    plist_free(message);
    uint32_t length = htonl(size);
    bool is_sent = send(agent, &length, 4, MSG_NOSIGNAL | MSG_MORE) == 4
        && send(agent, body, size, MSG_NOSIGNAL) == (ssize_t)size;
    free(body);
    return is_sent;
}

// Receives a message; NULL if the connection is lost.
static plist_t receive_message(int agent) {
    uint32_t length;
    if (recv(agent, &length, 4, MSG_WAITALL) != 4) return NULL;
    length = ntohl(length);
    char *body = malloc(length);
    plist_t message = NULL;
    if (body && recv(agent, body, length, MSG_WAITALL) == (ssize_t)length) plist_from_bin(body, length, &message);
    free(body);
    return message;
}

// Returns a string of a dictionary, to be freed; NULL if it has none.
static char *string_in(plist_t dictionary, const char *key) {
    char *text = NULL;
    plist_t item = plist_dict_get_item(dictionary, key);
    if (item && plist_get_node_type(item) == PLIST_STRING) plist_get_string_val(item, &text);
    return text;
}

static plist_t request(int number, const char *type) {
    plist_t message = plist_new_dict();
    plist_dict_set_item(message, "request", plist_new_uint(number));
    plist_dict_set_item(message, "type", plist_new_string(type));
    return message;
}

// Prints a key and its value in XML; a value of NULL is none.
static void print(const char *key, plist_t value) {
    char *xml = NULL;
    uint32_t size = 0;
    if (value) plist_to_xml(value, &xml, &size);
    const char *start = xml ? strstr(xml, "<plist version=\"1.0\">\n") : NULL;
    const char *text = start ? start + strlen("<plist version=\"1.0\">\n") : "none\n";
    printf("%s = %.*s\n", key, (int)strcspn(text, "\n"), text);
    fflush(stdout);
    free(xml);
}

static void print_event(const char *type, plist_t event) {
    if (strcmp(type, "initial") == 0) {
        plist_dict_iter entries = NULL;
        plist_t values = plist_dict_get_item(event, "values"), value = NULL;
        plist_dict_new_iter(values, &entries);
        char *key = NULL;
        for (plist_dict_next_item(values, entries, &key, &value); key;
             free(key), key = NULL, plist_dict_next_item(values, entries, &key, &value)) print(key, value);
        free(entries);
    } else if (strcmp(type, "change") == 0) {
        plist_t changes = plist_dict_get_item(event, "changes");
        for (uint32_t i = 0; i < plist_array_get_size(changes); i++) {
            plist_t change = plist_array_get_item(changes, i);
            char *key = string_in(change, "key");
            print(key, plist_dict_get_item(change, "new"));
            free(key);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: %s DOMAIN\n", argv[0]), 64;
    // The place in the agent's log up to which everything has been printed.
    char *cursor = strdup("snapshot");
    for (;; usleep(100000)) {
        int agent = connect_to_agent();
        if (agent < 0) continue;
        plist_t hello = request(1, "hello"), subscribe = request(2, "subscribe"), domains = plist_new_array();
        plist_dict_set_item(hello, "protocol", plist_new_uint(1));
        plist_dict_set_item(hello, "client", plist_new_string(argv[0]));
        plist_array_append_item(domains, plist_new_string(argv[1]));
        plist_dict_set_item(subscribe, "domains", domains);
        plist_dict_set_item(subscribe, "from", plist_new_string(cursor));
        plist_dict_set_item(subscribe, "mode", plist_new_string("latest"));
        bool is_sent = send_message(agent, hello);
        is_sent = send_message(agent, subscribe) && is_sent;
        for (plist_t message; is_sent && (message = receive_message(agent)); plist_free(message)) {
            char *type = string_in(message, "type"), *reached = string_in(message, "cursor");
            if (!type || strcmp(type, "failure") == 0) {
                char *reason = string_in(message, "message");
                return fprintf(stderr, "%s\n", reason ? reason : "The agent sent something else."), 1;
            }
            print_event(type, message);
            // The answers' cursors aren't those of what was printed.
            if (reached && strcmp(type, "welcome") != 0 && strcmp(type, "subscribed") != 0) {
                char *former = cursor;
                cursor = reached;
                reached = former;
            }
            free(reached);
            free(type);
        }
        close(agent);
    }
}
