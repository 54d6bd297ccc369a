// depend clauses. The clauses of sibling tasks for one address order these tasks:
//
//   in   after all out and set; out after all; set (inoutset) after all in and out
//
// Three objects per address are exact: when a task begins, only those siblings that it had to wait
// for can have ended and published to the objects that it takes from; a later conflicting sibling
// waits for it. omp_all_memory stands for all addresses of all siblings with such a clause.
#pragma once

#include "runtime/common/openmp/model.h"

namespace deadheat::runtime::openmp {

// Numbers that are not the program's memory: nothing is mapped here unless requested.
inline constexpr Object kFirstObject = Object{1} << 44;
Object make_objects(size_t count);
void forget_objects(Object objects, size_t count);

void after_predecessors(const DependOn& depend);
void before_successors(const DependOn& depend);
void free_dependences(Task& task);

}  // namespace deadheat::runtime::openmp
