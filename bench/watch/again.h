// Included before an annotated program that is run by again.c: the steps that put both sides of a
// race into one order in every run (invisible.h) are left out. What cannot meet cannot be met.
#include "invisible.h"
#define tell(step) ((void)0)
#define await(step) ((void)0)
