// Walks over the events in the order of their effects, tracks the state that they change, and
// records the loads and stores of each. One ModelBuilder builds one Model; effects_*.cc hold the
// families of calls, model.cc the walk itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/process/effects/file_locks.h"
#include "lib/process/effects/model.h"
#include "lib/process/effects/name_tree.h"
#include "lib/process/effects/open_files.h"
#include "lib/process/recording/syscall_table.h"

namespace deadheat::process::effects {

// A process of the recording; process numbers may be reused, these indices are not.
struct ProcessState {
  int32_t id = 0;
  uint32_t parent = kNoIndex;
  uint32_t ordinal = 0;   // among the parent's children: its place in the parent's kChild object
  uint32_t children = 0;  // ordinals assigned
  int32_t group = 0;
  bool alive = true;
  uint32_t exit_node = kNoIndex;
  std::vector<uint32_t> living;  // children
  std::map<uint32_t, std::vector<uint32_t>>
      sent;  // signal -> nodes that sent it, not yet delivered
  std::map<uint32_t, uint32_t> signal_objects;
  uint32_t process_object = kNoIndex, child_object = kNoIndex, parent_object = kNoIndex;
  uint32_t signal_state_object = kNoIndex;
};

struct TaskState {
  uint32_t process = 0;
  std::shared_ptr<DescriptorTable> table;
  std::shared_ptr<Folders> folders;
  uint32_t program = 0;
  uint32_t children = 0;
  uint64_t blocked = 0;              // signals, as far as calls show; bit 0 is signal 1
  uint32_t fork_node = kNoIndex;     // node that created this task
  uint32_t vfork_parent = kNoIndex;  // task that waits for its exec or exit
  uint32_t vfork_node = kNoIndex;    // node that released this task; its next node is after it
  uint32_t last_node = kNoIndex;
  bool ended = false;
  // The lock set of the last node, and what it was computed from.
  uint32_t lock_set = 0, locks_version = 0, table_version = 0;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(const recording::Recording& recording);
  Model build();

 private:
  // model.cc: the walk.
  void one(uint32_t index);
  void apply(recording::Effect effect);
  void compact();
  uint32_t task_of(int32_t id);
  uint32_t add_task(int32_t id, int32_t process_id, uint32_t process, uint32_t parent);
  void standard_streams();
  uint32_t lock_set();
  void note(const std::string& what);

  // The current event.
  const deadheat_process_event& head() const { return event_->head(); }
  uint64_t argument(int index) const { return head().arguments[index]; }
  int descriptor(int index) const {
    return static_cast<int>(static_cast<uint32_t>(argument(index)));
  }
  bool worked() const { return head().result >= 0; }
  uint64_t result() const { return static_cast<uint64_t>(head().result); }
  TaskState& self() { return tasks_[task_]; }
  ProcessState& own_process() { return processes_[self().process]; }

  // Accesses of the current event.
  void load(uint32_t object, uint64_t begin = 0, uint64_t end = kWhole,
            AccessRole role = AccessRole::kPlain);
  void store(uint32_t object, uint64_t begin = 0, uint64_t end = kWhole,
             AccessRole role = AccessRole::kPlain);
  void edge(uint32_t from, uint32_t object);  // into the current event
  uint32_t node() const { return static_cast<uint32_t>(model_.nodes.size()); }
  void must_have_node() { forced_ = true; }

  // model_objects.cc: objects, created on first use.
  uint32_t make_object(uint32_t& slot, ObjectKind kind, const std::function<std::string()>& name,
                       bool quiet = false);
  uint32_t name_object(uint32_t name);
  uint32_t folder_object(uint32_t inode);
  uint32_t meta_object(uint32_t inode);
  uint32_t data_object(uint32_t inode);
  uint32_t lock_object(uint32_t inode);
  uint32_t stream_object(uint32_t stream);
  uint32_t description_object(uint32_t description);
  uint32_t listener_object(uint32_t listener);
  uint32_t terminal_object(uint32_t description);
  uint32_t process_object(uint32_t process);
  uint32_t child_object(uint32_t process);
  uint32_t parent_object(uint32_t process);
  uint32_t signal_object(uint32_t process, uint32_t signal);
  uint32_t signal_state_object(uint32_t process);
  uint32_t global_object(const std::string& what);
  uint32_t proc_folder_object() {
    return make_object(proc_folder_, ObjectKind::kDirectory, [] { return "/proc"; });
  }

  // effects_path.cc: names.
  Lookup look_up(int folder_descriptor, int path_argument, bool follow, bool exists);
  void load_way(const Lookup& at);
  void load_name(const Lookup& at);
  void store_name(uint32_t name);
  void load_proc(const Lookup& at);
  void opened(int folder_descriptor, int path_argument, uint64_t flags);
  bool is_created(const Lookup& at, uint64_t flags,
                  const std::optional<deadheat_process_object>& object);
  bool is_cut_off(uint32_t inode);
  uint32_t describe_opened(const Lookup& at, uint64_t flags, uint32_t inode,
                           const std::optional<deadheat_process_object>& object);
  void stat_path(int folder_descriptor, int path_argument, bool follow, uint64_t begin,
                 uint64_t end);
  void read_link(int folder_descriptor, int path_argument);
  void unlinked(int folder_descriptor, int path_argument, bool folder);
  void made(int folder_descriptor, int path_argument, InodeKind kind);
  void renamed(int from_folder, int from, int to_folder, int to, uint64_t flags);
  void linked(int from_folder, int from, int to_folder, int to, bool follow);
  void symlinked(int target, int folder_descriptor, int path_argument);
  void change_meta(int folder_descriptor, int path_argument, bool follow);
  void change_meta_of(uint32_t inode);
  void truncate_path();
  void change_folder(bool root);
  void program_started(const deadheat_process_event& event);
  void executed(int folder_descriptor, int path_argument);
  void mounted(int path_argument);

  // effects_data.cc: bytes of files.
  void read_call(bool at_offset);
  void write_call(bool at_offset);
  void read_from(uint32_t description, uint64_t wanted, int64_t got,
                 std::optional<uint64_t> offset);
  void write_to(uint32_t description, int64_t wrote, std::optional<uint64_t> offset);
  void truncate(uint32_t inode, uint64_t size);
  void transfer(int from, int from_offset, int to, int to_offset, uint64_t wanted);
  void seek();
  void get_entries();
  void map_shared();
  void fallocate_call();

  // effects_descriptor.cc: tables and locks.
  uint32_t find(int descriptor);  // kNoIndex, and a counted problem, if unknown
  uint32_t peek(int descriptor);  // kNoIndex if unknown
  uint32_t add_description(Description description);
  void install(int descriptor, uint32_t description, bool close_on_exec);
  void close_slot(DescriptorTable& table, size_t index);
  void close_one(int descriptor);
  void drop(uint32_t description);
  void own_table();  // exec: the task no longer shares its table
  void close_on_exec();
  void release_table(TaskState& task);
  void duplicate(int from, int to, bool close_on_exec);
  void control();  // fcntl
  void flock_call();
  void fcntl_lock(bool description, bool waits, bool asks);
  void lock_call(uint32_t inode, LockOwner owner, int type, uint64_t begin, uint64_t end);
  void ioctl_call();
  void new_description();
  void epoll_control();

  // effects_stream.cc: pipes, sockets, waiting for them.
  uint32_t add_stream(std::string label);
  void make_pipe();
  void make_socket_pair();
  void write_stream(uint32_t stream, uint64_t size);
  void read_stream(uint32_t stream, uint64_t wanted, int64_t got);
  void end_stream(uint32_t stream);
  void look_at_stream(uint32_t stream, bool ready);
  uint32_t stream_to_write(const Description& description) const;
  uint32_t stream_to_read(const Description& description) const;
  uint32_t listener_at(std::string_view address, int type, bool bind);
  uint32_t add_endpoint(int type);
  void bind_socket();
  void listen_socket();
  void tell_socket_name();
  void connect_socket();
  void accept_socket();
  void shut_down();
  void send_message();
  void receive_message();
  void poll_call();
  void epoll_wait_call();
  void look_at(uint32_t description, bool ready);

  // effects_process.cc
  void forked();
  void exited();
  void waited(bool with_id);
  void reap(uint32_t child);
  void killed(int32_t target, uint32_t signal);
  void kill_call();
  void signal_sent();
  void signal_delivered();
  void change_signal_state();
  void send_signal(uint32_t process, uint32_t signal, uint32_t from);
  void let_vfork_parent_go();
  void touch_process(int pid_argument, bool stores);
  uint32_t process_of(int32_t id);  // kNoIndex: no living or unreaped process has it
  uint32_t add_process(int32_t id, uint32_t parent);

  const recording::Recording& recording_;
  Model model_;
  NameTree tree_;
  FileLocks locks_;
  std::vector<TaskState> tasks_;  // as model_.tasks
  std::vector<ProcessState> processes_;
  std::vector<Description> descriptions_;
  std::vector<Stream> streams_;
  std::vector<Endpoint> endpoints_;
  std::vector<Listener> listeners_;
  std::unordered_map<std::string, uint32_t> addresses_;  // -> listener
  std::unordered_map<int32_t, uint32_t> task_by_id_, process_by_id_;
  std::unordered_map<std::string, uint32_t> program_index_;
  std::map<std::string, uint32_t> globals_;
  std::map<std::string, uint64_t> notes_;  // problems, counted
  std::map<std::vector<uint64_t>, uint32_t> lock_set_index_;
  std::unordered_map<uint64_t, uint32_t> passed_descriptions_;
  std::vector<bool> forced_nodes_;
  uint32_t proc_folder_ = kNoIndex;

  const recording::Event* event_ = nullptr;
  uint32_t event_index_ = 0;
  uint32_t task_ = 0;
  uint64_t at_ = 0;
  uint32_t first_access_ = 0;
  bool forced_ = false;
};

}  // namespace deadheat::process::effects
