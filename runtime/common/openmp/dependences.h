// depend clauses. What tasks with the same parent say of one address orders them:
//
//   in   after all out and set; out after all; set (inoutset) after all in and out
//
// Three objects an address are exact: when a task begins, of its siblings only those that it had to
// wait for can have ended and published to the objects it takes from; a later one that conflicts
// waits for it. omp_all_memory stands for all addresses of all siblings that have such a clause.
#pragma once

#include "runtime/common/openmp/model.h"

namespace deadheat::runtime::openmp {

// Numbers that are no memory of the program's: nothing is mapped here unless by wish.
inline constexpr Object kFirstObject = Object{1} << 44;
Object make_objects(size_t count);
void forget_objects(Object objects, size_t count);

void after_predecessors(const DependOn& depend);
void before_successors(const DependOn& depend);
void free_dependences(Task& task);

}  // namespace deadheat::runtime::openmp
