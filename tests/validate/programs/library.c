static volatile long total; /* each access is made */

void* work(void* unused) {
  for (int i = 0; i < 100; ++i) total = total + 1;
  return unused;
}
