// A part of a program that is not instrumented; its copies of the inline functions are kept.
#include "spin.h"

void elsewhere(Spin* spin, int* value) {
  *spin->lock_for(value).value += 0;
  spin->unlock();
}
