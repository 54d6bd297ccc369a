/* CRC-32C (Castagnoli), the checksum of the trace container: the runtime writes it, the host checks
 * it. Uses the processor's instruction if it has one; four bits at a time otherwise. */
#ifndef DEADHEAT_ABI_CRC32C_H_
#define DEADHEAT_ABI_CRC32C_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#endif

static inline uint32_t dht_crc32c_portable(const void* data, size_t size) {
  static const uint32_t table[16] = {0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u,
                                     0x417b1dbcu, 0x5125dad3u, 0x61c69362u, 0x7198540du,
                                     0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u,
                                     0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u};
  const unsigned char* bytes = (const unsigned char*)data;
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < size; ++i) {
    crc = (crc >> 4) ^ table[(crc ^ bytes[i]) & 15];
    crc = (crc >> 4) ^ table[(crc ^ (bytes[i] >> 4)) & 15];
  }
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static inline uint32_t dht_crc32c_sse42(const void* data,
                                                                          size_t size) {
  const unsigned char* bytes = (const unsigned char*)data;
  uint64_t crc = 0xffffffffu;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  uint32_t low = (uint32_t)crc;
  for (; size > 0; --size, ++bytes) low = _mm_crc32_u8(low, *bytes);
  return ~low;
}
#endif

static inline uint32_t dht_crc32c(const void* data, size_t size) {
#if defined(__x86_64__)
  static int
      known; /* 0: unknown, 1: no instruction, 2: there is one; threads may write it at once */
  int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (has == 0) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    has = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0 ? 2 : 1;
    __atomic_store_n(&known, has, __ATOMIC_RELAXED);
  }
  if (has == 2) return dht_crc32c_sse42(data, size);
#endif
  return dht_crc32c_portable(data, size);
}

#endif
