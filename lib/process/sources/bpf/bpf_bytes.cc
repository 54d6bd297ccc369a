// The compiled kernel/bpf/process.bpf.c as bytes of this library.
__asm__(
    ".section .rodata\n"
    ".balign 8\n"
    ".global deadheat_process_bpf\n"
    ".hidden deadheat_process_bpf\n"
    "deadheat_process_bpf:\n"
    ".incbin \"" DEADHEAT_BPF_FILE
    "\"\n"
    ".global deadheat_process_bpf_end\n"
    ".hidden deadheat_process_bpf_end\n"
    "deadheat_process_bpf_end:\n"
    ".byte 0\n"
    ".previous\n");
