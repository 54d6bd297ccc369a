// SPDX-License-Identifier: GPL-2.0
// Takes all four debug registers of every processor, as a debugger of the kernel would.
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/perf_event.h>

static u64 word;
static struct perf_event *__percpu *taken[4];

static void nobody_comes(struct perf_event *event, struct perf_sample_data *data,
                         struct pt_regs *regs) {}

static void give_back(void) {
  for (int i = 0; i < 4; ++i)
    if (taken[i]) unregister_wide_hw_breakpoint(taken[i]);
}

static int __init registers_init(void) {
  struct perf_event_attr attr;
  hw_breakpoint_init(&attr);
  attr.bp_addr = (unsigned long)&word;
  attr.bp_len = HW_BREAKPOINT_LEN_8;
  attr.bp_type = HW_BREAKPOINT_W;
  for (int i = 0; i < 4; ++i) {
    taken[i] = register_wide_hw_breakpoint(&attr, nobody_comes, NULL);
    if (!IS_ERR((void __force *)taken[i])) continue;
    taken[i] = NULL;
    give_back();
    return -EBUSY;
  }
  return 0;
}

static void __exit registers_exit(void) { give_back(); }

module_init(registers_init);
module_exit(registers_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Leaves no debug register to others");
