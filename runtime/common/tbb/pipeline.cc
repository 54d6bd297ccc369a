// Pipelines. The library creates the stages from the program's description and passes items between
// stages, in order or not, through its own buffers. The exact ordering is not tracked: every call
// of a stage comes after those that ended before it. This hides races between stages that ran one
// after the other, but invents none.
#include "runtime/common/tbb/tables.h"

namespace deadheat::runtime::tbb {

namespace {

// Laid out as in the headers of oneTBB. A node without a left child describes a
// stage.
struct Node {
  Virtual object;
  intptr_t references;
  Node* left;
  Node* right;
};
using Create = Virtual*(const Node*);
using Work = void*(Virtual* stage, void* item);
enum { kCreate = 0, kWork = 0, kFinalize = 3 };

const char pipelines = 0;  // stands for all of them

CALLS_PROGRAM void* run_stage(Virtual* stage, void* item, size_t slot) {
  after(&pipelines);
  void* result = nullptr;
  guarded(
      [&] {
        const void* const function = program_table(stage)[slot];
        result = reinterpret_cast<Work*>(const_cast<void*>(function))(stage, item);
        NO_TAIL_CALL;
      },
      [] { before(&pipelines); });
  return result;
}
void* work(Virtual* stage, void* item) { return run_stage(stage, item, kWork); }
void* finalize(Virtual* stage, void* item) { return run_stage(stage, item, kFinalize); }

const Replacement kStage = {reinterpret_cast<const void*>(work), nullptr, nullptr,
                            reinterpret_cast<const void*>(finalize)};

CALLS_PROGRAM Virtual* create(const Node* node) {
  const void* const function = program_table(&node->object)[kCreate];
  Virtual* const stage = reinterpret_cast<Create*>(const_cast<void*>(function))(node);
  if (!put_before(stage, kStage)) abandon_model();
  return stage;
}

const Replacement kNode = {reinterpret_cast<const void*>(create), nullptr, nullptr, nullptr};

void follow(Node* node) {
  if (node == nullptr) return;
  if (node->left == nullptr) {
    if (!put_before(&node->object, kNode)) abandon_model();
    return;
  }
  follow(node->left);
  follow(node->right);
}

}  // namespace

INTERCEPT_TBB(void, parallel_pipeline,
              TBB_R1("17parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE"),
              (void* context, size_t tokens, Node* filters)) {
  if (self() != nullptr) follow(filters);
  before(&pipelines);
  guarded([=] { TBB(parallel_pipeline)(context, tokens, filters); }, [] { after(&pipelines); });
}

}  // namespace deadheat::runtime::tbb
