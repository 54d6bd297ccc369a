// A load for memcached: CONNECTIONS at a time, each with REQUESTS requests in flight one after the
// other, over the text protocol. Keys are shared by all connections (so that threads of the server
// meet on the same items), some values are large (slabs move), some expire at once (the crawler has
// work). Exits with 1 on an answer that the protocol does not have.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kKeys = 400, kLargest = 60000, kMaxConnections = 256 };

struct Connection {
  int fd;
  int left;         // requests still to send
  int values;       // the answer ends with END, not with the first line
  size_t skip;      // bytes of a value's data still to come
  size_t used;      // of line
  char line[512];   // the line of the answer that is being read
  unsigned random;  // each connection has its own sequence: the same requests in every run
};

static char payload[kLargest + 2];

static unsigned next_random(struct Connection* c) {
  c->random = c->random * 1664525u + 1013904223u;
  return c->random >> 8;
}

static void die(const char* what, const char* detail) {
  fprintf(stderr, "cache_load: %s: %s\n", what, detail);
  exit(1);
}

static void send_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) die("send", strerror(errno));
    data += sent;
    size -= (size_t)sent;
  }
}

static void send_store(struct Connection* c, const char* verb, unsigned key) {
  const unsigned shape = next_random(c) % 20;
  const size_t size = shape == 0 ? next_random(c) % kLargest : next_random(c) % 400;
  char head[128];
  const int length =
      snprintf(head, sizeof head, "%s key%u 0 %d %zu\r\n", verb, key, shape == 1 ? 1 : 0, size);
  send_all(c->fd, head, (size_t)length);
  send_all(c->fd, payload, size);
  send_all(c->fd, "\r\n", 2);
}

static void send_request(struct Connection* c) {
  const unsigned key = next_random(c) % kKeys;
  char text[256];
  c->values = 0;
  switch (next_random(c) % 16) {
    case 0:
    case 1:
    case 2:
      send_store(c, "set", key);
      return;
    case 3:
      send_store(c, "add", key);
      return;
    case 4:
      send_store(c, "append", key);
      return;
    case 5:
      snprintf(text, sizeof text, "delete key%u\r\n", key);
      break;
    case 6:
      snprintf(text, sizeof text, "incr number%u 3\r\n", key % 8);
      break;
    case 7:
      snprintf(text, sizeof text, "set number%u 0 0 1\r\n7\r\n", key % 8);
      break;
    case 8:
      snprintf(text, sizeof text, "touch key%u %u\r\n", key, 1 + key % 50);
      break;
    case 9:
      snprintf(text, sizeof text, "get key%u key%u number1\r\n", key, (key + 1) % kKeys);
      c->values = 1;
      break;
    case 10:
      if (next_random(c) % 64 != 0) {
        snprintf(text, sizeof text, "gat 100 key%u\r\n", key);
      } else {
        snprintf(text, sizeof text, "stats%s\r\n",
                 key % 3 == 0   ? " items"
                 : key % 3 == 1 ? " slabs"
                                : "");
      }
      c->values = 1;
      break;
    default:
      snprintf(text, sizeof text, "get key%u\r\n", key);
      c->values = 1;
  }
  send_all(c->fd, text, strlen(text));
}

// True at the end of the answer.
static int line_ends_answer(struct Connection* c) {
  size_t size = 0;
  if (sscanf(c->line, "VALUE %*s %*u %zu", &size) == 1) {
    c->skip = size + 2;
    return 0;
  }
  if (strncmp(c->line, "STAT ", 5) == 0) return 0;
  if (strncmp(c->line, "ERROR", 5) == 0 || strncmp(c->line, "CLIENT_ERROR b", 14) == 0)
    die("answer", c->line);
  return 1;
}

// Takes in what came; true when the answer is complete.
static int receive(struct Connection* c) {
  char data[65536];
  const ssize_t got = read(c->fd, data, sizeof data);
  if (got <= 0) die("read", got == 0 ? "closed by the server" : strerror(errno));
  int complete = 0;
  for (ssize_t i = 0; i < got;) {
    if (c->skip > 0) {
      const size_t step = c->skip < (size_t)(got - i) ? c->skip : (size_t)(got - i);
      c->skip -= step;
      i += (ssize_t)step;
      continue;
    }
    const char byte = data[i++];
    if (c->used + 1 < sizeof c->line) c->line[c->used++] = byte;
    if (byte != '\n') continue;
    c->line[c->used] = 0;
    c->used = 0;
    complete = line_ends_answer(c);
  }
  return complete;
}

static void open_connection(struct Connection* c, const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  c->fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (c->fd < 0 || connect(c->fd, (struct sockaddr*)&address, sizeof address) != 0)
    die(path, strerror(errno));
}

int main(int argc, char** argv) {
  if (argc != 4) die("usage", "cache_load SOCKET CONNECTIONS REQUESTS");
  const int count = atoi(argv[2]) < kMaxConnections ? atoi(argv[2]) : kMaxConnections;
  static struct Connection connections[kMaxConnections];
  struct pollfd polled[kMaxConnections];
  memset(payload, '5', sizeof payload);
  for (int i = 0; i < count; ++i) {
    connections[i] = (struct Connection){.left = atoi(argv[3]), .random = 77u + (unsigned)i};
    open_connection(&connections[i], argv[1]);
    polled[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
    send_request(&connections[i]);
  }
  for (int open = count; open > 0;) {
    if (poll(polled, (nfds_t)count, 60000) <= 0) die("poll", "no answer in a minute");
    for (int i = 0; i < count; ++i) {
      struct Connection* c = &connections[i];
      if ((polled[i].revents & (POLLIN | POLLHUP)) == 0 || !receive(c)) continue;
      if (--c->left > 0) {
        // Some clients come and go, so that the server hands connections to its threads all the
        // time.
        if (c->left % 100 == 0) {
          close(c->fd);
          open_connection(c, argv[1]);
          polled[i].fd = c->fd;
        }
        send_request(c);
      } else {
        close(c->fd);
        polled[i].fd = -1;
        --open;
      }
    }
  }
  return 0;
}
