// In C, compiled with -fexceptions: the C support library's personality then runs the cleanup, and
// the runtime needs nothing from libstdc++. Programs that use oneTBB have that library (libgcc_s)
// loaded; for all others the two names stay null, and the unwinder skips a frame without a
// personality.
__asm__(".weak __gcc_personality_v0\n.weak _Unwind_Resume");

struct Guard {
  void (*finally)(void*);
  void* data;
};

static void leave(const struct Guard* guard) { guard->finally(guard->data); }

__attribute__((visibility("hidden"))) void deadheat_guarded(void (*call)(void*),
                                                            void (*finally)(void*), void* data) {
  struct Guard guard __attribute__((cleanup(leave))) = {finally, data};
  call(data);
}
