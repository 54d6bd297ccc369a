#pragma once

typedef long Sixteen __attribute__((vector_size(16)));

struct Data {
  char one;
  short two __attribute__((aligned(8)));
  int four __attribute__((aligned(8)));
  long eight;
  Sixteen sixteen;
  int halves[2];
};
