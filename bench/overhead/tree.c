// Private binary search trees: each thread inserts, looks up and frees nodes of its own.
// tree THREADS [N [TURNS]]. Without a race.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct node {
  unsigned key;
  struct node *left, *right;
  int count;
};
static int threads, n, turns;
static struct node* insert(struct node** at, unsigned key) {
  while (*at) {
    if ((*at)->key == key) {
      (*at)->count++;
      return *at;
    }
    at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  }
  struct node* f = malloc(sizeof *f);
  f->key = key;
  f->left = f->right = 0;
  f->count = 1;
  *at = f;
  return f;
}
static long sum(struct node* t) {
  return t ? t->key % 7 + t->count + sum(t->left) + sum(t->right) : 0;
}
static void drop(struct node* t) {
  if (!t) return;
  drop(t->left);
  drop(t->right);
  free(t);
}
static void* work(void* arg) {
  unsigned seed = (unsigned)(long)arg + 1;
  long total = 0;
  for (int r = 0; r < turns; r++) {
    struct node* root = 0;
    for (int i = 0; i < n; i++) {
      seed = seed * 1664525u + 1013904223u;
      insert(&root, seed >> 8 & 0xffff);
    }
    total += sum(root);
    drop(root);
  }
  return (void*)total;
}
int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  n = argc > 2 ? atoi(argv[2]) : 10000;
  turns = argc > 3 ? atoi(argv[3]) : 5;
  pthread_t t[64];
  long s = 0;
  for (long i = 0; i < threads; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < threads; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld\n", s);
  return 0;
}
