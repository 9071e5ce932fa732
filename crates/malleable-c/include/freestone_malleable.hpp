// freestone_malleable.hpp: resizing a running MPI program in C++17, on freestone_malleable.h.
//
//   namespace fsm = freestone::malleable;
//
//   fsm::job job(MPI_COMM_WORLD);
//   std::int64_t step = 0;
//   auto x = job.variable<double>("x", 1000000);
//   job.replicated("step", step);
//   if (!job.is_joining())
//     for (auto row = x.first(); row < x.end_row(); row++) x[row] = ...;
//   for (; step < 100 && job.checkpoint(step) != fsm::status::leave; step++) {
//     ... x[row] for the rows from x.first() to x.end_row(), job.comm() ...
//   }
//   job.finalise();
//
// What fails throws fsm::error; MPI_Finalize comes after job.finalise().
#ifndef FREESTONE_MALLEABLE_HPP
#define FREESTONE_MALLEABLE_HPP

#include "freestone_malleable.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace freestone::malleable {

// A call that failed: its number and what to do about it.
class error : public std::runtime_error {
public:
  error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}

  // FSM_BAD_CALL, ...
  int code() const noexcept { return code_; }

private:
  int code_;
};

namespace detail {

inline int checked(int code) {
  if (code < 0)
    throw error(code, fsm_error());
  return code;
}

} // namespace detail

// How a checkpoint or a commit ended.
enum class status {
  same = FSM_OK,
  resized = FSM_RESIZED,
  leave = FSM_LEAVE,
  user_phase = FSM_USER_PHASE,
  cancelled = FSM_CANCELLED
};

// What a process is in a resize, or was in the last one.
enum class role { staying = FSM_STAYING, joining = FSM_JOINING, leaving = FSM_LEAVING };

// Rows from `first` to `end_row`, whose elements begin at `data`.
template <class T> struct run {
  std::uint64_t first, end_row;
  T *data;
};

// Rows of elements of one type, `width` of them each, by the numbers that they have on all ranks. Data that
// is not registered, or whose rows have other bytes, throws.
template <class T> class rows {
  static_assert(std::is_trivially_copyable_v<T>, "rows are moved as bytes");

public:
  // There may be several runs from the start: only what each has is compared here.
  rows(std::string name, std::size_t width) : name_(std::move(name)), width_(width) { runs(); }

  // Asks again which rows are here, as is done for each one that is used after they have changed.
  void update() {
    std::uint64_t count = 0;
    void *address = nullptr;
    const auto row_nbytes = static_cast<std::int64_t>(width_ * sizeof(T));
    detail::checked(fsm_typed_rows(name_.c_str(), -1, row_nbytes, &address, &first_, &count));
    data_ = static_cast<T *>(address);
    count_ = count;
  }

  // All runs of rows that are here, of which there may be several if the job is minimal or has an owner
  // function: only this may be asked then.
  std::vector<run<T>> runs() const {
    std::vector<run<T>> found;
    const int count = detail::checked(fsm_runs(name_.c_str()));
    for (int at = 0; at < count; at++) {
      std::uint64_t first = 0, rows = 0;
      void *address = nullptr;
      const auto row_nbytes = static_cast<std::int64_t>(width_ * sizeof(T));
      detail::checked(fsm_typed_rows(name_.c_str(), at, row_nbytes, &address, &first, &rows));
      found.push_back({first, first + rows, static_cast<T *>(address)});
    }
    return found;
  }

  std::uint64_t first() { return current(), first_; }
  std::uint64_t end_row() { return current(), first_ + count_; }
  std::size_t size() { return current(), count_ * width_; }
  // All elements of the rows that are here.
  T *begin() { return current(), data_; }
  T *end() { return begin() + count_ * width_; }
  T *row(std::uint64_t number) { return begin() + (number - first_) * width_; }
  // The only, or first, element of a row.
  T &operator[](std::uint64_t number) { return *row(number); }

private:
  void current() {
    const int changes = detail::checked(fsm_changes());
    if (changes != changes_) {
      changes_ = changes;
      update();
    }
  }

  std::string name_;
  std::size_t width_;
  T *data_ = nullptr;
  std::uint64_t first_ = 0;
  std::size_t count_ = 0;
  int changes_ = -1;
};

// Which rank has a row, of so many rows and ranks, and where the rows end that it has from there on: row + 1
// before, `rows` at most. The same for the same arguments on all ranks.
using owner_function = std::function<int(std::uint64_t rows, int ranks, std::uint64_t row, std::uint64_t &end)>;

// The job; a program has one.
class job {
public:
  explicit job(MPI_Comm comm, const fsm_config &config = {}) {
    detail::checked(fsm_init(comm, &config));
  }
  // Rows are dealt as a function says, which may give a rank several runs of them; what it throws refuses the
  // layout, and is in the text of the error.
  job(MPI_Comm comm, owner_function owner, fsm_config config = {}) : owner_(std::move(owner)) {
    config.owner = &job::owner_of;
    config.context = this;
    detail::checked(fsm_init(comm, &config));
  }
  job(const job &) = delete;
  job &operator=(const job &) = delete;

  // Registers rows that are not written after the first checkpoint.
  template <class T> rows<T> constant(const std::string &name, std::uint64_t count, std::size_t width = 1) {
    return registered<T>(name, FSM_CONSTANT, count, width);
  }
  // Registers rows that move at the switch.
  template <class T> rows<T> variable(const std::string &name, std::uint64_t count, std::size_t width = 1) {
    return registered<T>(name, FSM_VARIABLE, count, width);
  }
  // Registers a value that is the same on all ranks.
  template <class T> void replicated(const std::string &name, T &value) {
    static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");
    detail::checked(fsm_register_replicated(name.c_str(), &value, sizeof value));
  }
  // Registers rows in memory of the program's own.
  void user(const std::string &name, std::uint64_t count, const fsm_functions &functions) {
    detail::checked(fsm_register_user(name.c_str(), count, &functions));
  }
  // The same, in several runs a rank.
  void user(const std::string &name, std::uint64_t count, const fsm_functions &functions, fsm_adopt_runs_fn adopt_runs) {
    detail::checked(fsm_register_user_runs(name.c_str(), count, &functions, adopt_runs));
  }

  // Gives variable data other numbers of rows, any on each rank; all ranks call it together.
  void set_rows(std::initializer_list<const char *> names, std::uint64_t count) {
    detail::checked(fsm_set_rows(names.begin(), static_cast<int>(names.size()), count));
  }

  // Writes all registered data into a file; all ranks call it together, at the head of a step.
  void save(const std::string &path) { detail::checked(fsm_save(path.c_str())); }
  // Reads it, before the first checkpoint; false if there is no file, so that rows are to be filled.
  bool load(const std::string &path) { return detail::checked(fsm_load(path.c_str())) != 0; }

  status checkpoint(std::int64_t step) {
    return static_cast<status>(detail::checked(fsm_checkpoint(step)));
  }
  status commit() { return static_cast<status>(detail::checked(fsm_commit())); }
  void request(int size) { detail::checked(fsm_request(size)); }
  fsm_resize_info resize() const {
    fsm_resize_info info;
    detail::checked(fsm_resize(&info));
    return info;
  }

  bool is_joining() const { return detail::checked(fsm_is_joining()) != 0; }
  malleable::role role() const { return static_cast<malleable::role>(detail::checked(fsm_role())); }
  int rank() const { return detail::checked(fsm_rank()); }
  int size() const { return detail::checked(fsm_size()); }
  MPI_Comm comm() const { return fsm_comm(); }

  // Ends the job, on all ranks that are in it and those that leave.
  void finalise() { detail::checked(fsm_finalise()); }

private:
  static int owner_of(void *context, std::uint64_t rows, int ranks, std::uint64_t row, std::uint64_t *end) noexcept {
    try {
      return static_cast<job *>(context)->owner_(rows, ranks, row, *end);
    } catch (const std::exception &thrown) {
      fsm_threw(thrown.what());
    } catch (...) {
      fsm_threw("what is no std::exception");
    }
    return -1;
  }

  template <class T>
  rows<T> registered(const std::string &name, int kind, std::uint64_t count, std::size_t width) {
    detail::checked(fsm_register_rows(name.c_str(), kind, count, width * sizeof(T)));
    return rows<T>(name, width);
  }

  owner_function owner_;
};

} // namespace freestone::malleable

#endif
