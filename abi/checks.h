/* What the check that the clang pass inlines in front of an access (compiler/pass/inline_checks.cc)
 * reads of the runtime. Every mode's library defines the variable, one for each thread:
 *
 *   cell  = segments[address >> 32] + (address & address_bits) * 2        16 bytes, aligned
 *   words = read or write
 *   hit   = any of the four slots of the cell equals its word, in the bits that are compared
 *   if (!hit) __tsan_readN(address)                                       or another hook
 *
 * From 16 bytes on, aligned to 8, every eight bytes have a cell of their own, one after the other,
 * and all must hit: up to DEADHEAT_CHECK_MOST_BYTES are looked at, even past the segment's end.
 *
 * Compared are DEADHEAT_CHECK_KIND_BITS, for a write also DEADHEAT_CHECK_WRITE_BIT, and the bit of
 * each byte of the eight that the access touches (the lowest bit is that of the lowest address).
 * So a runtime that wants to be called each time offers a cell that never equals the words, and one
 * that does not want to be called one that does.
 *
 * The name has the version: a program that was compiled for another one does not link, or does not
 * start. A new layout gets a new name, and a runtime may define both.
 */
#ifndef DEADHEAT_ABI_CHECKS_H_
#define DEADHEAT_ABI_CHECKS_H_

#include <stdint.h>

#define DEADHEAT_CHECK_WORDS __deadheat_check_words_2
#define DEADHEAT_CHECK_WORDS_NAME "__deadheat_check_words_2"

#define DEADHEAT_CHECK_MOST_BYTES 64

#define DEADHEAT_CHECK_WRITE_BIT 0x200u
#define DEADHEAT_CHECK_KIND_BITS 0xfffffd00u

struct deadheat_check_words {
  uint32_t read[4]; /* offset 0 */
  uint32_t write[4];
  char* const* segments; /* offset 32 */
  uint64_t address_bits; /* offset 40 */
};

#endif /* DEADHEAT_ABI_CHECKS_H_ */
