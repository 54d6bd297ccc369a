// An unaligned access that crosses a word, and even a page: every byte of it counts.
#include <stdint.h>

#include "program.h"

struct __attribute__((packed)) Packet {
  char head;
  uint64_t body;  // bytes 1 to 8: across the word boundary
  char tail;
};

__attribute__((aligned(4096))) char pages[8192];
__attribute__((aligned(8))) struct Packet packet;

static void* writer(void* arg) {
  packet.body = 7;                                 // RACE! word
  ((struct Packet*)(pages + 4096 - 5))->body = 7;  // RACE! page
  tell(0);
  return NULL;
}

static void* neighbour(void* arg) {
  await(0);
  packet.head = 1;      // NORACE
  packet.tail = 1;      // NORACE
  pages[4095 - 4] = 1;  // NORACE in front
  pages[4096 + 4] = 1;  // NORACE behind
  if (SAFE) return NULL;
  *((char*)&packet + 8) = 1;  // RACE! word
  pages[4096 + 3] = 1;        // RACE! page
  return NULL;
}

int main(void) { run_two(writer, neighbour); }
