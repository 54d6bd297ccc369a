// System V semaphores and queues, and POSIX message queues.
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include "program.h"

int semaphore, queue;
mqd_t posix;
int under_semaphore, in_queue, in_posix;

static void* sender(void* arg) {
  struct sembuf up = {0, 1, 0};
  struct {
    long type;
    char text;
  } message = {1, 'x'};
  if (SAFE) under_semaphore = 1;
  semop(semaphore, &up, 1);
  if (!SAFE) under_semaphore = 2;  // RACE! semaphore
  tell(0);
  if (SAFE) in_queue = 1;
  msgsnd(queue, &message, 1, 0);
  if (!SAFE) in_queue = 2;  // RACE! queue
  tell(1);
  if (SAFE) in_posix = 1;
  mq_send(posix, "x", 1, 0);
  if (!SAFE) in_posix = 2;  // RACE! posix
  tell(2);
  return NULL;
}

static void* receiver(void* arg) {
  struct sembuf down = {0, -1, 0};
  struct {
    long type;
    char text;
  } message;
  char text[8];
  semop(semaphore, &down, 1);
  await(0);
  use(under_semaphore);  // RACE! semaphore
  msgrcv(queue, &message, 1, 0, 0);
  await(1);
  use(in_queue);  // RACE! queue
  mq_receive(posix, text, sizeof text, NULL);
  await(2);
  use(in_posix);  // RACE! posix
  return NULL;
}

int main(void) {
  char name[64];
  struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
  snprintf(name, sizeof name, "/deadheat.%d", (int)getpid());
  posix = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  mq_unlink(name);
  semaphore = semget(IPC_PRIVATE, 1, 0600);
  queue = msgget(IPC_PRIVATE, 0600);
  run_two(sender, receiver);
  semctl(semaphore, 0, IPC_RMID);
  msgctl(queue, IPC_RMID, NULL);
}
