// A client inside the server: preloaded, it starts a thread that connects to the server's own
// socket and does what a script says. So both ends of every connection are in one process, and a
// scheduler that decides which thread runs decides everything.
//
//   LD_PRELOAD=inner_client.so CLIENT_SOCKET=PATH CLIENT_SCRIPT=FILE SERVER ...
//
// A line of the script: `N < TEXT` sends TEXT (\r and \n spelled so) on connection N, `N >` reads
// what comes next on it. An answer that holds "ERR" ends the process with status 1.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kConnections = 64, kLine = 4096, kTries = 10000 };

static int connections[kConnections];
static char *server, *script_path;  // copies: a server may overwrite its environment

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "inner_client: %s: %s\n", what, detail);
  _exit(1);
}

static int connect_to_server(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", server);
  for (int i = 0; i < kTries; ++i) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) == 0) return fd;
    close(fd);
    usleep(1000);  // the server is not there yet
  }
  fail("nobody listens", server);
  return -1;
}

// In place: `\r` and `\n` become what they mean, the line's own end goes.
static size_t decode(char* text) {
  char* to = text;
  for (const char* from = text; *from != '\0' && *from != '\n'; ++from) {
    if (*from == '\\' && (from[1] == 'r' || from[1] == 'n')) {
      *to++ = *++from == 'r' ? '\r' : '\n';
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
  return (size_t)(to - text);
}

static void receive(int fd) {
  char answer[65536];
  const ssize_t got = read(fd, answer, sizeof answer - 1);
  if (got < 0) fail("read", "the connection broke");
  answer[got] = '\0';
  if (strstr(answer, "ERR") != NULL) fail("answer", answer);
}

static void* talk(void* unused) {
  FILE* const script = fopen(script_path, "r");
  if (script == NULL) fail("CLIENT_SCRIPT", "cannot be read");
  char line[kLine];
  while (fgets(line, sizeof line, script) != NULL) {
    char way = 0;
    int number = 0, used = 0;
    if (sscanf(line, "%d %c%n", &number, &way, &used) != 2 || number < 0 || number >= kConnections)
      fail("what is this", line);
    if (connections[number] == 0) connections[number] = connect_to_server();
    if (way == '>') {
      receive(connections[number]);
    } else {
      char* const text = line + used + (line[used] == ' ');
      const size_t size = decode(text);
      if (send(connections[number], text, size, MSG_NOSIGNAL) != (ssize_t)size) break;
    }
  }
  fclose(script);
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t client;
  if (getenv("CLIENT_SOCKET") == NULL || getenv("CLIENT_SCRIPT") == NULL) return;
  server = strdup(getenv("CLIENT_SOCKET"));
  script_path = strdup(getenv("CLIENT_SCRIPT"));
  unsetenv("LD_PRELOAD");  // children have no such client
  if (pthread_create(&client, NULL, talk, NULL) == 0) pthread_detach(client);
}
