// freestone_events.hpp: events for C++17, on freestone_events.h.
//
//   namespace fse = freestone::events;
//
//   fse::run run;
//   auto sum = fse::submit({{0, "half"}, {fse::self, "half"}}, [&](const fse::events &events) {
//     return events[0].value<double>() + events[1].value<double>();
//   });
//   fse::fire(1, "half", 16.5);
//   std::cout << sum.get();
//
// What fails throws fse::error. Tasks are lambdas with what they capture, which lives until the task
// has run, or is persistent and the run has ended; what a task throws ends the run on all ranks.
#ifndef FREESTONE_EVENTS_HPP
#define FREESTONE_EVENTS_HPP

#include "freestone_events.h"

#include <atomic>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace freestone::events {

inline constexpr int self = FSE_SELF;
inline constexpr int all = FSE_ALL;
inline constexpr int any = FSE_ANY;

// A call that failed: its number and what to do about it.
class error : public std::runtime_error {
public:
  error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}

  // FSE_BAD_CALL, ...
  int code() const noexcept { return code_; }

private:
  int code_;
};

namespace detail {

inline int checked(int code) {
  if (code < 0)
    throw error(code, fse_error());
  return code;
}

constexpr unsigned flag(unsigned bit, bool is_set) { return is_set ? bit : 0u; }

template <class T> constexpr int type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return FSE_BOOL;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4)
    return FSE_INT;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8)
    return FSE_LONG;
  else if constexpr (std::is_same_v<T, float>)
    return FSE_FLOAT;
  else if constexpr (std::is_same_v<T, double>)
    return FSE_DOUBLE;
  else if constexpr (std::is_same_v<T, signed char>)
    return FSE_INT8;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 2)
    return FSE_INT16;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return FSE_COMPLEX_FLOAT;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return FSE_COMPLEX_DOUBLE;
  else
    return FSE_BYTE;
}

// What people call a type.
inline std::string name_of(int type) {
  static const char *const names[] = {"nothing", "int32",   "int64", "float",
                                      "double",  "bytes",   "address", "bool",
                                      "complex float", "complex double", "int8", "int16"};
  if (type == FSE_TEXT)
    return "text";
  if (type == FSE_PY_ARRAY)
    return "an array that only Python reads";
  if (type == FSE_PY_OBJECT)
    return "an object of Python's";
  return type >= 0 && type <= FSE_INT16 ? names[type] : "type " + std::to_string(type);
}

template <class T, class = void> struct is_container : std::false_type {};
template <class T>
struct is_container<
    T, std::void_t<decltype(std::data(std::declval<const T &>()), std::size(std::declval<const T &>()))>>
    : std::true_type {};

} // namespace detail

// How a type travels that is more than its bytes. Specialise it with
//   static std::vector<unsigned char> encode(const T &);
//   static T decode(const unsigned char *data, std::size_t nbytes);
template <class T> struct codec {};

namespace detail {
template <class T, class = void> struct has_codec : std::false_type {};
template <class T>
struct has_codec<T, std::void_t<decltype(codec<T>::encode(std::declval<const T &>()))>>
    : std::true_type {};
} // namespace detail

// Elements that lie elsewhere.
template <class T> class span {
public:
  span() = default;
  span(T *data, std::size_t size) : data_(data), size_(size) {}

  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](std::size_t index) const { return data_[index]; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// An event, for as long as the events are there that it is one of.
class event {
public:
  explicit event(const fse_event &view) : view_(&view) {}

  int source() const noexcept { return view_->source; }
  std::string_view id() const noexcept { return view_->id; }
  std::size_t size() const noexcept { return view_->count; }
  int type() const noexcept { return view_->type; }
  bool empty() const noexcept { return view_->count == 0; }

  // The extents of an array, the one that runs fastest last; none for a single value.
  span<const std::size_t> shape() const noexcept {
    return {view_->shape, static_cast<std::size_t>(view_->ndims)};
  }

  // What it carries: one T. Throws if it carries something else.
  template <class T> T value() const {
    if constexpr (detail::has_codec<T>::value) {
      expect(view_->type == FSE_BYTE, "bytes of a codec");
      return codec<T>::decode(static_cast<const unsigned char *>(view_->data), view_->count);
    } else if constexpr (std::is_same_v<T, std::string>) {
      expect(view_->type == FSE_BYTE || view_->type == FSE_TEXT, "text");
      return T(static_cast<const char *>(view_->data), view_->count);
    } else {
      auto found = values<T>();
      expect(found.size() == 1, "one value");
      T copy;
      std::memcpy(&copy, found.data(), sizeof copy);
      return copy;
    }
  }

  // All that it carries, without a copy.
  template <class T> span<const T> values() const {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>, "ask for value<T>() or object<T>()");
    constexpr int wanted = detail::type_of<T>();
    expect(view_->type == wanted, detail::name_of(wanted));
    std::size_t nbytes = wanted == FSE_BYTE ? view_->count : view_->count * sizeof(T);
    expect(nbytes % sizeof(T) == 0, "whole elements");
    return {static_cast<const T *>(view_->data), nbytes / sizeof(T)};
  }

  // The object whose address was fired.
  template <class T> T &object() const {
    expect(view_->type == FSE_ADDRESS, "an address");
    return *static_cast<T *>(const_cast<void *>(view_->data));
  }

private:
  void expect(bool holds, const std::string &what) const {
    if (!holds)
      throw error(FSE_BAD_CALL, "the event '" + std::string(id()) + "' of rank " +
                                    std::to_string(source()) + " was read as " + what +
                                    ", and carries " + std::to_string(view_->count) + " of " +
                                    detail::name_of(view_->type));
  }

  const fse_event *view_;
};

// The events of a task, in the order of its dependencies.
class events {
public:
  events(const fse_event *first, int count) : first_(first), count_(count) {}

  std::size_t size() const noexcept { return static_cast<std::size_t>(count_); }

  event operator[](std::size_t index) const {
    if (index >= size())
      throw error(FSE_BAD_CALL, "there is no event " + std::to_string(index) + " of " +
                                    std::to_string(count_));
    return event(first_[index]);
  }

  // The first with this identifier from this source.
  std::optional<event> find(int source, const char *id) const {
    const fse_event *found = fse_find(first_, count_, source, id);
    return found ? std::optional(event(*found)) : std::nullopt;
  }

  class iterator {
  public:
    explicit iterator(const fse_event *at) : at_(at) {}
    event operator*() const { return event(*at_); }
    iterator &operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const iterator &other) const { return at_ != other.at_; }

  private:
    const fse_event *at_;
  };

  iterator begin() const { return iterator(first_); }
  iterator end() const { return iterator(first_ + count_); }

protected:
  const fse_event *first_;
  int count_;
};

// Events that were waited for: they are freed with it.
class owned_events : public events {
public:
  owned_events(const fse_event *first, int count) : events(first, count) {}
  owned_events(owned_events &&other) noexcept : events(other.first_, other.count_) {
    other.first_ = nullptr;
    other.count_ = 0;
  }
  owned_events(const owned_events &) = delete;
  owned_events &operator=(owned_events) = delete;
  ~owned_events() { fse_free(first_); }
};

// An event that a task needs.
struct dependency {
  int source;
  std::string id;
};

using dependencies = std::vector<dependency>;

// How a task is submitted; see fse_options.
struct options {
  bool persistent = false;
  bool greedy = false;
  std::string name;
  std::size_t at_least = 0;
  double within_s = 0;
};

// Of a task that runs each time, and of one that takes all that is there as well.
inline const options persistent = {true, false, {}, 0, 0};
inline const options greedy = {true, true, {}, 0, 0};

namespace detail {

inline std::vector<fse_dependency> listed(const dependencies &on) {
  std::vector<fse_dependency> list;
  for (const dependency &one : on)
    list.push_back({one.source, one.id.c_str()});
  return list;
}

} // namespace detail

// Waits for events. timeout_s < 0: for as long as it takes; throws an error with FSE_TIMEOUT else.
inline owned_events wait(const dependencies &on, double timeout_s = -1,
                         const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  auto list = detail::listed(on);
  int found = 0;
  fse_at(file, line, "wait");
  const fse_event *first = (fse_wait_on)(list.data(), list.size(), timeout_s, &found);
  detail::checked(found);
  return {first, found};
}

// Takes at most one event for each dependency, of those that are there; throws what fails.
inline owned_events retrieve_any(const dependencies &on) {
  auto list = detail::listed(on);
  int found = 0;
  const fse_event *first = fse_retrieve_any_on(list.data(), list.size(), &found);
  detail::checked(found);
  return {first, found};
}

namespace detail {

struct nothing {};
template <class R> using stored = std::conditional_t<std::is_void_v<R>, nothing, R>;

// An identifier that nobody else waits for, whatever the type of the result.
inline std::string result_for_waiter() {
  static std::atomic<unsigned long> count{0};
  return "result for waiter " + std::to_string(count++);
}

// What a task and its futures share.
template <class R> class outcome {
public:
  void fulfil(stored<R> value) {
    std::vector<std::string> waiting;
    {
      std::lock_guard held(mutex_);
      if (value_)
        return;
      value_ = std::move(value);
      waiting.swap(waiting_);
    }
    for (const std::string &id : waiting)
      checked(fse_fire(nullptr, FSE_NONE, 0, FSE_SELF, id.c_str()));
  }

  bool done() const {
    std::lock_guard held(mutex_);
    return value_.has_value();
  }

  const stored<R> &get(const char *file, int line) {
    std::string id;
    {
      std::lock_guard held(mutex_);
      if (value_)
        return *value_;
      id = result_for_waiter();
      waiting_.push_back(id);
    }
    wait({{self, id}}, -1, file, line);
    std::lock_guard held(mutex_);
    return *value_;
  }

private:
  mutable std::mutex mutex_;
  std::optional<stored<R>> value_;
  std::vector<std::string> waiting_;
};

} // namespace detail

// What a task returns, once it has; of a persistent task, what its first call returns.
template <class R> class future {
public:
  explicit future(std::shared_ptr<detail::outcome<R>> outcome) : outcome_(std::move(outcome)) {}

  bool done() const { return outcome_->done(); }

  // Waits for it as wait() does: in a task, the worker runs others meanwhile.
  decltype(auto) get(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const {
    const auto &value = outcome_->get(file, line);
    if constexpr (!std::is_void_v<R>)
      return static_cast<const R &>(value);
  }

private:
  std::shared_ptr<detail::outcome<R>> outcome_;
};

namespace detail {

// Kept until the end of the run.
struct kept {
  virtual ~kept() = default;
};

inline std::mutex &kept_lock() {
  static std::mutex lock;
  return lock;
}

inline std::vector<std::unique_ptr<kept>> &all_kept() {
  static std::vector<std::unique_ptr<kept>> all;
  return all;
}

template <class F> decltype(auto) call(F &function, const events &found) {
  if constexpr (std::is_invocable_v<F &, const events &>) {
    return function(found);
  } else {
    static_assert(std::is_invocable_v<F &>, "a task takes its events, as const events &, or nothing");
    return function();
  }
}

template <class F> using result = decltype(call(std::declval<F &>(), std::declval<const events &>()));

template <class F> struct body : kept {
  using R = std::decay_t<result<F>>;

  body(F function, bool persistent) : function(std::move(function)), persistent(persistent) {}

  void run(const events &found) {
    if constexpr (std::is_void_v<result<F>>) {
      call(function, found);
      made->fulfil({});
    } else {
      made->fulfil(call(function, found));
    }
  }

  static void enter(const fse_event *first, int count, void *context) {
    auto *task = static_cast<body *>(context);
    // A task that runs once goes with it, also if it throws.
    std::unique_ptr<body> own(task->persistent ? nullptr : task);
    task->run(events(first, count));
  }

  F function;
  bool persistent;
  std::shared_ptr<outcome<R>> made = std::make_shared<outcome<R>>();
};

} // namespace detail

// Submits a task: a callable that takes `const events &`, or nothing.
template <class F>
auto submit(const dependencies &on, F &&function, const options &how = {},
            const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  using Body = detail::body<std::decay_t<F>>;
  auto task = std::make_unique<Body>(std::forward<F>(function), how.persistent);
  auto made = task->made;
  auto list = detail::listed(on);
  unsigned flags = detail::flag(FSE_PERSISTENT, how.persistent) | detail::flag(FSE_GREEDY, how.greedy);
  const char *name = how.name.empty() ? nullptr : how.name.c_str();
  fse_options given = {flags, name, how.at_least, how.within_s};
  fse_at(file, line, "lambda");
  // From here on it may run, and be gone.
  Body *raw = task.release();
  int code = fse_submit_by(fse_call, Body::enter, raw, list.data(), list.size(), &given);
  if (code < 0) {
    delete raw;
    throw error(code, fse_error());
  }
  if (how.persistent) {
    std::lock_guard held(detail::kept_lock());
    detail::all_kept().emplace_back(raw);
  }
  return future<typename Body::R>(std::move(made));
}

// Fires an event that carries nothing.

enum class lasting { once, persistent };

inline void fire(int target, const std::string &id, lasting how = lasting::once) {
  unsigned flags = detail::flag(FSE_PERSISTENT, how == lasting::persistent);
  detail::checked(fse_fire_flags(nullptr, FSE_NONE, 0, target, id.c_str(), flags));
}

// Fires a value: a number, text, a container of elements that lie one after the other, anything that is
// its bytes, or has a codec. It is copied.
template <class T>
void fire(int target, const std::string &id, const T &value, lasting how = lasting::once) {
  unsigned flags = detail::flag(FSE_PERSISTENT, how == lasting::persistent);
  auto send = [&](const void *data, int type, std::size_t count) {
    detail::checked(fse_fire_flags(data, type, count, target, id.c_str(), flags));
  };
  if constexpr (detail::has_codec<T>::value) {
    auto bytes = codec<T>::encode(value);
    send(bytes.data(), FSE_BYTE, bytes.size());
  } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
    std::string_view text = value;
    send(text.data(), FSE_TEXT, text.size());
  } else if constexpr (detail::is_container<T>::value) {
    using E = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(value))>>;
    static_assert(std::is_trivially_copyable_v<E> && !std::is_pointer_v<E>,
                  "the elements are pointers, or more than their bytes: fire what they point to, or use "
                  "fire_object");
    constexpr int type = detail::type_of<E>();
    send(std::data(value), type, std::size(value) * (type == FSE_BYTE ? sizeof(E) : 1));
  } else {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                  "an event carries a pointer, or a type that is more than its bytes: fire what it "
                  "points to, use fire_object, or specialise freestone::events::codec");
    constexpr int type = detail::type_of<T>();
    send(&value, type, type == FSE_BYTE ? sizeof(T) : 1);
  }
}

// Fires an array of numbers with its shape; its last index runs fastest.
template <class T>
void fire_array(int target, const std::string &id, const T *data,
                const std::vector<std::size_t> &shape, lasting how = lasting::once) {
  constexpr int type = detail::type_of<T>();
  static_assert(type != FSE_BYTE || sizeof(T) == 1, "arrays with a shape are of numbers");
  unsigned flags = detail::flag(FSE_PERSISTENT, how == lasting::persistent);
  detail::checked(fse_fire_array(data, type, static_cast<int>(shape.size()), shape.data(), target,
                                 id.c_str(), flags));
}

// Fires an object at this rank by its address.
template <class T> void fire_object(const std::string &id, T &object) {
  detail::checked(fse_fire_address(&object, id.c_str()));
}

// A lock, until the end of the block or of the task.
class lock {
public:
  explicit lock(std::string name, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : name_(std::move(name)) {
    fse_at(file, line, "lock");
    detail::checked((fse_lock)(name_.c_str()));
  }
  lock(const lock &) = delete;
  lock &operator=(const lock &) = delete;
  ~lock() { fse_unlock(name_.c_str()); }

private:
  std::string name_;
};

inline int rank() { return detail::checked(fse_rank()); }
inline int ranks() { return detail::checked(fse_ranks()); }
inline void drain() { detail::checked(fse_drain()); }
inline bool is_submitted(const std::string &name) {
  return detail::checked(fse_is_submitted(name.c_str())) > 0;
}
inline int remove(const std::string &name) { return detail::checked(fse_remove(name.c_str())); }

// A part in a run from outside, for as long as it lives: fse_attach and fse_detach. fire, wait and
// retrieve_any are possible meanwhile.
class bridge {
public:
  bridge() { detail::checked(fse_attach()); }
  explicit bridge(std::uintptr_t comm) { detail::checked(fse_attach_on(comm)); }
  bridge(const bridge &) = delete;
  bridge &operator=(const bridge &) = delete;
  ~bridge() { fse_detach(); }
};

// The run: it begins with the object, and finish() waits for its end. A program that leaves the block
// by an exception ends the run on all ranks.
class run {
public:
  explicit run(const fse_config &config = {}, const char *file = __builtin_FILE(),
               int line = __builtin_LINE())
      : exceptions_(std::uncaught_exceptions()), file_(file), line_(line) {
    fse_watch_exceptions();
    fse_at(file, line, "run");
    detail::checked((fse_init)(&config));
  }
  run(const run &) = delete;
  run &operator=(const run &) = delete;

  // Throws what ended the run, if it did not end well.
  void finish() {
    is_over_ = true;
    int code = fse_finalise();
    std::string text = code < 0 ? fse_error() : "";
    std::lock_guard held(detail::kept_lock());
    detail::all_kept().clear();
    if (code < 0)
      throw error(code, text);
  }

  ~run() {
    if (is_over_)
      return;
    if (std::uncaught_exceptions() > exceptions_) {
      fse_at(file_, line_, "run");
      (fse_fail)("an exception left the block of the run that begins there");
    }
    try {
      finish();
    } catch (const error &) {
      // fse_finalise has said it.
    }
  }

private:
  bool is_over_ = false;
  int exceptions_;
  const char *file_;
  int line_;
};

} // namespace freestone::events

#endif
