! SPMD programs as tasks driven by events, for Fortran 2018: the calls of freestone_events.h.
!
! Tasks are subroutines with bind(c) and the interface `task`; they run at the same time as the
! program and each other, so they are recursive and keep no saved variables without a lock. Calls
! return FSE_OK or what they counted, or an error, which is negative; see fse_error.
module freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  private

  ! What tasks are declared with, and the kinds of what is fired.
  public :: c_int, c_int8_t, c_int16_t, c_int32_t, c_int64_t, c_size_t, c_float, c_double, &
      c_float_complex, c_double_complex, c_bool, c_ptr, c_null_ptr, c_loc, c_associated, c_f_pointer

  integer, parameter, public :: FSE_SELF = -1001, FSE_ALL = -1002, FSE_ANY = -1003
  integer, parameter, public :: FSE_NONE = 0, FSE_INT = 1, FSE_LONG = 2, FSE_FLOAT = 3, &
      FSE_DOUBLE = 4, FSE_BYTE = 5, FSE_ADDRESS = 6, FSE_BOOL = 7, FSE_COMPLEX_FLOAT = 8, &
      FSE_COMPLEX_DOUBLE = 9, FSE_INT8 = 10, FSE_INT16 = 11, FSE_TEXT = 17
  integer, parameter, public :: FSE_OK = 0, FSE_TASK_FAILED = -1, FSE_RANK_LOST = -2, &
      FSE_STUCK = -3, FSE_OVER = -4, FSE_BAD_CALL = -5, FSE_IN_TASK = -6, FSE_TIMEOUT = -7, &
      FSE_NOT_HELD = -8, FSE_TRANSPORT = -9, FSE_NO_START = -10, FSE_BAD_COMM = -11, &
      FSE_TOO_LARGE = -12, FSE_DISAGREEMENT = -13
  integer, parameter, public :: FSE_PERSISTENT = 1, FSE_GREEDY = 2

  ! The longest identifier in a dependency.
  integer, parameter, public :: FSE_ID_LEN = 256

  ! An event, as tasks get it; fse_value and fse_values read what it carries.
  type, bind(c), public :: fse_event
    type(c_ptr) :: data
    integer(c_size_t) :: count
    integer(c_int) :: type
    integer(c_int) :: source
    type(c_ptr) :: id
    type(c_ptr) :: shape
    integer(c_int) :: ndims
  end type

  ! An event that a task needs, made by fse_on.
  type, public :: fse_dependency
    integer :: source
    character(len=FSE_ID_LEN) :: id
  end type

  ! How a program runs; what is 0 is taken from the environment, else the default.
  type, bind(c), public :: fse_config
    integer(c_int) :: ranks = 0, workers = 0, progress_thread = 0, spin_us = 0
    integer(c_size_t) :: arena = 0
    real(c_double) :: stuck_s = 0, send_timeout_s = 0
    integer(c_int) :: mapping = 0, report_mapping = 0
    integer(c_size_t) :: backlog = 0, inbox = 0
    real(c_double) :: slow_task_s = 0, meet_timeout_s = 0, grace_s = 0
    type(c_ptr) :: trace = c_null_ptr
  end type

  ! What a rank has done since it began, and what it is doing; see the header.
  type, bind(c), public :: fse_statistics
    integer(c_int64_t) :: fired = 0, arrived = 0, tasks = 0, waiting = 0, ready = 0, unconsumed = 0
    integer(c_int) :: workers = 0, busy = 0
  end type

  type, bind(c) :: options_c
    integer(c_int) :: flags
    type(c_ptr) :: name
    integer(c_size_t) :: at_least
    real(c_double) :: within_s
  end type

  type, bind(c) :: on_c
    integer(c_int) :: source
    type(c_ptr) :: id
  end type

  abstract interface
    subroutine task(events, count, context) bind(c)
      import :: fse_event, c_int, c_ptr
      integer(c_int), value :: count
      type(fse_event), intent(in) :: events(count)
      type(c_ptr), value :: context
    end subroutine
  end interface
  public :: task

  ! Nothing that a program can give: what comes after it has to be named.
  type :: by_name
  end type

  ! Fires nothing, or a value of a type in the table of the documentation, or an array of them of any
  ! rank, whose shape it keeps; of a section that is not contiguous the compiler makes a copy, which is
  ! what is fired. The target is a rank, FSE_SELF, FSE_ALL, or an array of ranks:
  ! fse_fire(to, id, [values]). That the event is persistent has to be named:
  ! fse_fire(to, id, persistent=.true.).
  interface fse_fire
    module procedure fire_nothing, fire_int8, fire_int16, fire_int, fire_long, fire_float, &
        fire_double, fire_complex, fire_dcomplex, fire_bool, fire_logical, fire_text
  end interface

  ! Copies what an event carries to a variable, or to an array of any rank: call fse_value(event,
  ! number). An event with another type, with more or fewer elements, or of the same rank with other
  ! extents, ends the program. A section that is not contiguous is filled, too. Text is an allocatable character(len=:).
  interface fse_value
    module procedure value_int8, value_int16, value_int, value_long, value_float, value_double, &
        value_complex, value_dcomplex, value_bool, value_logical, value_text
  end interface

  ! Points to the numbers, or the logical(c_bool), that an event carries, for as long as the task
  ! runs.
  interface fse_values
    module procedure values_int8, values_int16, values_int, values_long, values_float, &
        values_double, values_complex, values_dcomplex, values_bool
  end interface

  ! Events of lost ranks, and of those that have joined.
  character(len=*), parameter, public :: FSE_RANK_LOST_EVENT = "rank_lost", &
      FSE_RANK_JOINED_EVENT = "rank_joined"

  public :: fse_init, fse_finalise, fse_rank, fse_ranks, fse_has_joined, fse_error, fse_on, &
      fse_submit, fse_fire, fse_fire_address, fse_wait, fse_retrieve_any, fse_free, fse_value, &
      fse_values, fse_shape, fse_id, fse_find, &
      fse_init_comm, fse_attach, fse_detach, fse_progress, &
      fse_lock, fse_try_lock, fse_holds_lock, fse_unlock, fse_hold_mpi, &
      fse_release_mpi, fse_report, fse_workers, &
      fse_busy_workers, fse_worker, fse_core, fse_get_statistics, fse_is_submitted, fse_remove, fse_after, fse_every, &
      fse_when_readable, fse_when_memory_below, fse_when_load_above, fse_stop, fse_drain, fse_fail

  interface
    integer(c_int) function c_init(config) bind(c, name="fse_init")
      import :: c_int, c_ptr
      type(c_ptr), value :: config
    end function
    integer(c_int) function fse_finalise() bind(c)
      import :: c_int
    end function
    integer(c_int) function c_init_f(config, comm) bind(c, name="fse_init_f")
      import :: c_int, c_ptr
      type(c_ptr), value :: config
      integer(c_int), value :: comm
    end function
    integer(c_int) function c_attach() bind(c, name="fse_attach")
      import :: c_int
    end function
    integer(c_int) function c_attach_f(comm) bind(c, name="fse_attach_f")
      import :: c_int
      integer(c_int), value :: comm
    end function
    integer(c_int) function fse_detach() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_progress() bind(c)
      import :: c_int
    end function
    integer(c_int) function c_fire_array(data, kind, ndims, extents, targets, ntargets, id, flags) &
        bind(c, name="fse_fire_array_f")
      import :: c_int, c_ptr, c_size_t, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: kind, ndims
      integer(c_size_t), intent(in) :: extents(*)
      integer(c_int), intent(in) :: targets(*)
      integer(c_size_t), value :: ntargets
      character(kind=c_char), intent(in) :: id(*)
      integer(c_int), value :: flags
    end function
    integer(c_int) function fse_rank() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_ranks() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_has_joined() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_drain() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_hold_mpi() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_release_mpi() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_report() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_workers() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_busy_workers() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_worker() bind(c)
      import :: c_int
    end function
    integer(c_int) function fse_core(worker) bind(c)
      import :: c_int
      integer(c_int), value :: worker
    end function
    integer(c_int) function fse_get_statistics(into) bind(c)
      import :: c_int, fse_statistics
      type(fse_statistics), intent(out) :: into
    end function
    integer(c_int) function c_holds_lock(name) bind(c, name="fse_holds_lock")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    type(c_ptr) function c_error() bind(c, name="fse_error")
      import :: c_ptr
    end function
    integer(c_int) function c_submit(body, context, on, count, options) &
        bind(c, name="fse_submit_with")
      import :: c_int, c_ptr, c_funptr, c_size_t, on_c, options_c
      type(c_funptr), value :: body
      type(c_ptr), value :: context
      type(on_c), intent(in) :: on(*)
      integer(c_size_t), value :: count
      type(options_c), intent(in) :: options
    end function
    integer(c_int) function c_fire(data, kind, count, target, id, flags) &
        bind(c, name="fse_fire_flags")
      import :: c_int, c_ptr, c_size_t, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: kind
      integer(c_size_t), value :: count
      integer(c_int), value :: target
      character(kind=c_char), intent(in) :: id(*)
      integer(c_int), value :: flags
    end function
    integer(c_int) function c_fire_group(data, kind, count, targets, ntargets, id) &
        bind(c, name="fse_fire_group")
      import :: c_int, c_ptr, c_size_t, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: kind
      integer(c_size_t), value :: count
      integer(c_int), intent(in) :: targets(*)
      integer(c_size_t), value :: ntargets
      character(kind=c_char), intent(in) :: id(*)
    end function
    type(c_ptr) function c_find(events, count, source, id) bind(c, name="fse_find")
      import :: c_int, c_ptr, c_char, fse_event
      type(fse_event), intent(in) :: events(*)
      integer(c_int), value :: count, source
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_fire_address(address, id) bind(c, name="fse_fire_address")
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: address
      character(kind=c_char), intent(in) :: id(*)
    end function
    type(c_ptr) function c_wait(on, count, timeout_s, found) bind(c, name="fse_wait_on")
      import :: c_int, c_ptr, c_size_t, c_double, on_c
      type(on_c), intent(in) :: on(*)
      integer(c_size_t), value :: count
      real(c_double), value :: timeout_s
      integer(c_int), intent(out) :: found
    end function
    type(c_ptr) function c_retrieve(on, count, found) bind(c, name="fse_retrieve_any_on")
      import :: c_int, c_ptr, c_size_t, on_c
      type(on_c), intent(in) :: on(*)
      integer(c_size_t), value :: count
      integer(c_int), intent(out) :: found
    end function
    subroutine c_free(events) bind(c, name="fse_free")
      import :: c_ptr
      type(c_ptr), value :: events
    end subroutine
    integer(c_int) function c_lock(name) bind(c, name="fse_lock")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_try_lock(name) bind(c, name="fse_try_lock")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_unlock(name) bind(c, name="fse_unlock")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_is_submitted(name) bind(c, name="fse_is_submitted")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_remove(name) bind(c, name="fse_remove")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_after(seconds, id) bind(c, name="fse_after")
      import :: c_int, c_double, c_char
      real(c_double), value :: seconds
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_when_readable(descriptor, id) bind(c, name="fse_when_readable")
      import :: c_int, c_char
      integer(c_int), value :: descriptor
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_when_memory_below(nbytes, id) bind(c, name="fse_when_memory_below")
      import :: c_int, c_int64_t, c_char
      integer(c_int64_t), value :: nbytes
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_when_load_above(load, id) bind(c, name="fse_when_load_above")
      import :: c_int, c_double, c_char
      real(c_double), value :: load
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_every(seconds, id) bind(c, name="fse_every")
      import :: c_int, c_double, c_char
      real(c_double), value :: seconds
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_stop(id) bind(c, name="fse_stop")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: id(*)
    end function
    integer(c_int) function c_fail(message) bind(c, name="fse_fail")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: message(*)
    end function
  end interface

contains

  ! Begins the run.
  integer function fse_init(config)
    type(fse_config), intent(in), target, optional :: config
    type(c_ptr) :: given
    given = c_null_ptr
    if (present(config)) given = c_loc(config)
    fse_init = c_init(given)
  end function

  ! On the ranks of a communicator: an integer, or the MPI_VAL of a type(MPI_Comm).
  integer function fse_init_comm(comm, config)
    integer, intent(in) :: comm
    type(fse_config), intent(in), target, optional :: config
    type(c_ptr) :: given
    given = c_null_ptr
    if (present(config)) given = c_loc(config)
    fse_init_comm = c_init_f(given, comm)
  end function

  ! Takes part in a run from outside, as a process of a communicator, or of all that mpiexec started.
  integer function fse_attach(comm)
    integer, intent(in), optional :: comm
    if (present(comm)) then
      fse_attach = c_attach_f(comm)
    else
      fse_attach = c_attach()
    end if
  end function

  ! The extents of what an event carries, as Fortran has them: none for a single value. An array of
  ! C's, or of Python's with its last index running fastest, has them the other way round.
  function fse_shape(event) result(extents)
    type(fse_event), intent(in) :: event
    integer :: extents(event%ndims)
    integer(c_size_t), pointer :: found(:)
    if (event%ndims == 0) return
    call c_f_pointer(event%shape, found, [event%ndims])
    extents = int(found(event%ndims:1:-1))
  end function

  ! What the last call of this thread that failed has to say.
  function fse_error() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_error())
  end function

  ! The identifier of an event.
  function fse_id(event) result(text)
    type(fse_event), intent(in) :: event
    character(len=:), allocatable :: text
    text = text_at(event%id)
  end function

  ! An event that a task needs.
  type(fse_dependency) function fse_on(source, id)
    integer, intent(in) :: source
    character(len=*), intent(in) :: id
    fse_on = fse_dependency(source, id)
    ! One that is cut off would be another's.
    if (len(id) > FSE_ID_LEN) error stop "fse_on: an identifier is longer than FSE_ID_LEN"
  end function

  ! Submits a task that needs these events; at once, if there are none. at_least, within_s: a greedy
  ! task takes events in batches of so many, or of fewer so many seconds after the first.
  integer function fse_submit(body, on, flags, name, context, at_least, within_s)
    procedure(task) :: body
    type(fse_dependency), intent(in), optional :: on(:)
    integer, intent(in), optional :: flags
    character(len=*), intent(in), optional :: name
    type(c_ptr), intent(in), optional :: context
    integer, intent(in), optional :: at_least
    real(c_double), intent(in), optional :: within_s
    character(kind=c_char, len=:), allocatable, target :: ids, word
    type(on_c), allocatable :: list(:)
    type(c_ptr) :: given
    type(options_c) :: options
    call listed(list, ids, on)
    given = c_null_ptr
    if (present(context)) given = context
    options = options_c(0, c_null_ptr, 0, 0)
    if (present(flags)) options%flags = flags
    if (present(at_least)) options%at_least = at_least
    if (present(within_s)) options%within_s = within_s
    if (present(name)) then
      word = name // c_null_char
      options%name = c_loc(word)
    end if
    fse_submit = c_submit(c_funloc(body), given, list, size(list, kind=c_size_t), options)
  end function

  ! Waits for events; to be freed by fse_free. A negative timeout_s, or none: as long as it takes.
  function fse_wait(on, timeout_s) result(events)
    type(fse_dependency), intent(in) :: on(:)
    real(c_double), intent(in), optional :: timeout_s
    type(fse_event), pointer :: events(:)
    character(kind=c_char, len=:), allocatable, target :: ids
    type(on_c), allocatable :: list(:)
    real(c_double) :: limit
    integer(c_int) :: found
    type(c_ptr) :: start
    call listed(list, ids, on)
    limit = -1
    if (present(timeout_s)) limit = timeout_s
    start = c_wait(list, size(list, kind=c_size_t), limit, found)
    call pointed(start, found, events)
  end function

  ! Takes at most one event for each dependency, of those that are there; to be freed by fse_free.
  function fse_retrieve_any(on) result(events)
    type(fse_dependency), intent(in) :: on(:)
    type(fse_event), pointer :: events(:)
    character(kind=c_char, len=:), allocatable, target :: ids
    type(on_c), allocatable :: list(:)
    integer(c_int) :: found
    type(c_ptr) :: start
    call listed(list, ids, on)
    start = c_retrieve(list, size(list, kind=c_size_t), found)
    call pointed(start, found, events)
  end function

  ! Frees what fse_wait and fse_retrieve_any returned.
  subroutine fse_free(events)
    type(fse_event), pointer, intent(inout) :: events(:)
    if (associated(events)) call c_free(c_loc(events))
    nullify(events)
  end subroutine

  integer function fse_fire_address(address, id)
    type(c_ptr), intent(in) :: address
    character(len=*), intent(in) :: id
    fse_fire_address = c_fire_address(address, trim(id) // c_null_char)
  end function

  integer function fse_lock(name)
    character(len=*), intent(in) :: name
    fse_lock = c_lock(trim(name) // c_null_char)
  end function

  integer function fse_try_lock(name)
    character(len=*), intent(in) :: name
    fse_try_lock = c_try_lock(trim(name) // c_null_char)
  end function

  ! Whether this task has the lock, without trying to take it.
  integer function fse_holds_lock(name)
    character(len=*), intent(in) :: name
    fse_holds_lock = c_holds_lock(trim(name) // c_null_char)
  end function

  integer function fse_unlock(name)
    character(len=*), intent(in) :: name
    fse_unlock = c_unlock(trim(name) // c_null_char)
  end function

  integer function fse_is_submitted(name)
    character(len=*), intent(in) :: name
    fse_is_submitted = c_is_submitted(trim(name) // c_null_char)
  end function

  integer function fse_remove(name)
    character(len=*), intent(in) :: name
    fse_remove = c_remove(trim(name) // c_null_char)
  end function

  integer function fse_after(seconds, id)
    real(c_double), intent(in) :: seconds
    character(len=*), intent(in) :: id
    fse_after = c_after(seconds, trim(id) // c_null_char)
  end function

  integer function fse_every(seconds, id)
    real(c_double), intent(in) :: seconds
    character(len=*), intent(in) :: id
    fse_every = c_every(seconds, trim(id) // c_null_char)
  end function

  integer function fse_when_readable(descriptor, id)
    integer, intent(in) :: descriptor
    character(len=*), intent(in) :: id
    fse_when_readable = c_when_readable(descriptor, trim(id) // c_null_char)
  end function

  integer function fse_when_memory_below(nbytes, id)
    integer(c_int64_t), intent(in) :: nbytes
    character(len=*), intent(in) :: id
    fse_when_memory_below = c_when_memory_below(nbytes, trim(id) // c_null_char)
  end function

  integer function fse_when_load_above(load, id)
    real(c_double), intent(in) :: load
    character(len=*), intent(in) :: id
    fse_when_load_above = c_when_load_above(load, trim(id) // c_null_char)
  end function

  integer function fse_stop(id)
    character(len=*), intent(in) :: id
    fse_stop = c_stop(trim(id) // c_null_char)
  end function

  ! Ends the run on all ranks with an error.
  integer function fse_fail(message)
    character(len=*), intent(in) :: message
    fse_fail = c_fail(trim(message) // c_null_char)
  end function

  ! The first event with this identifier from this source; not associated if there is none.
  function fse_find(events, source, id) result(found)
    type(fse_event), intent(in) :: events(:)
    integer, intent(in) :: source
    character(len=*), intent(in) :: id
    type(fse_event), pointer :: found
    type(c_ptr) :: start
    nullify(found)
    start = c_find(events, size(events), source, trim(id) // c_null_char)
    if (c_associated(start)) call c_f_pointer(start, found)
  end function

  ! A logical without a name would be what the event carries: `named` keeps the two apart.
  integer function fire_nothing(to, id, named, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    type(by_name), intent(in), optional :: named
    logical, intent(in), optional :: persistent
    if (present(named)) continue
    fire_nothing = fire(c_null_ptr, FSE_NONE, [0_c_size_t], to, id, persistent)
  end function

  integer function fire_int8(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    integer(c_int8_t), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_int8 = fire(c_loc(values), FSE_INT8, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_int8(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int8_t), intent(inout), target, contiguous :: values(..)
    integer(c_int8_t), pointer :: found(:), into(:)
    call values_int8(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_int8(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int8_t), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_INT8)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_int16(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    integer(c_int16_t), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_int16 = fire(c_loc(values), FSE_INT16, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_int16(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int16_t), intent(inout), target, contiguous :: values(..)
    integer(c_int16_t), pointer :: found(:), into(:)
    call values_int16(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_int16(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int16_t), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_INT16)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_int(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    integer(c_int32_t), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_int = fire(c_loc(values), FSE_INT, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_int(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int32_t), intent(inout), target, contiguous :: values(..)
    integer(c_int32_t), pointer :: found(:), into(:)
    call values_int(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_int(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int32_t), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_INT)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_long(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    integer(c_int64_t), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_long = fire(c_loc(values), FSE_LONG, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_long(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int64_t), intent(inout), target, contiguous :: values(..)
    integer(c_int64_t), pointer :: found(:), into(:)
    call values_long(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_long(event, values)
    type(fse_event), intent(in) :: event
    integer(c_int64_t), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_LONG)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_float(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    real(c_float), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_float = fire(c_loc(values), FSE_FLOAT, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_float(event, values)
    type(fse_event), intent(in) :: event
    real(c_float), intent(inout), target, contiguous :: values(..)
    real(c_float), pointer :: found(:), into(:)
    call values_float(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_float(event, values)
    type(fse_event), intent(in) :: event
    real(c_float), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_FLOAT)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_double(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    real(c_double), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_double = fire(c_loc(values), FSE_DOUBLE, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_double(event, values)
    type(fse_event), intent(in) :: event
    real(c_double), intent(inout), target, contiguous :: values(..)
    real(c_double), pointer :: found(:), into(:)
    call values_double(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_double(event, values)
    type(fse_event), intent(in) :: event
    real(c_double), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_DOUBLE)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_complex(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    complex(c_float_complex), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_complex = fire(c_loc(values), FSE_COMPLEX_FLOAT, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_complex(event, values)
    type(fse_event), intent(in) :: event
    complex(c_float_complex), intent(inout), target, contiguous :: values(..)
    complex(c_float_complex), pointer :: found(:), into(:)
    call values_complex(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_complex(event, values)
    type(fse_event), intent(in) :: event
    complex(c_float_complex), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_COMPLEX_FLOAT)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_dcomplex(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    complex(c_double_complex), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_dcomplex = fire(c_loc(values), FSE_COMPLEX_DOUBLE, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_dcomplex(event, values)
    type(fse_event), intent(in) :: event
    complex(c_double_complex), intent(inout), target, contiguous :: values(..)
    complex(c_double_complex), pointer :: found(:), into(:)
    call values_dcomplex(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_dcomplex(event, values)
    type(fse_event), intent(in) :: event
    complex(c_double_complex), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_COMPLEX_DOUBLE)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_bool(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    logical(c_bool), intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    fire_bool = fire(c_loc(values), FSE_BOOL, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_bool(event, values)
    type(fse_event), intent(in) :: event
    logical(c_bool), intent(inout), target, contiguous :: values(..)
    logical(c_bool), pointer :: found(:), into(:)
    call values_bool(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  subroutine values_bool(event, values)
    type(fse_event), intent(in) :: event
    logical(c_bool), pointer, intent(out) :: values(:)
    call expect_type(event, FSE_BOOL)
    call c_f_pointer(event%data, values, [event%count])
  end subroutine

  integer function fire_logical(to, id, values, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    logical, intent(in), target, contiguous :: values(..)
    logical, intent(in), optional :: persistent
    logical, pointer :: list(:)
    logical(c_bool), allocatable, target :: flags(:)
    call c_f_pointer(c_loc(values), list, [size(values)])
    flags = logical(list, c_bool)
    fire_logical = fire(c_loc(flags), FSE_BOOL, shape(values, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_logical(event, values)
    type(fse_event), intent(in) :: event
    logical, intent(inout), target, contiguous :: values(..)
    logical(c_bool), pointer :: found(:)
    logical, pointer :: into(:)
    call values_bool(event, found)
    call expect_shape(event, shape(values, kind=c_size_t))
    call c_f_pointer(c_loc(values), into, [size(values)])
    into = found
  end subroutine

  integer function fire_text(to, id, text, persistent)
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    character(len=*), intent(in), target :: text
    logical, intent(in), optional :: persistent
    type(c_ptr) :: letters
    integer(c_size_t) :: count
    ! Not in the call: gfortran 12 would hand on the length of the text as that of id.
    letters = c_loc(text)
    count = len(text, kind=c_size_t)
    fire_text = fire_list(letters, FSE_TEXT, count, to, id, persistent)
  end function

  subroutine value_text(event, text)
    type(fse_event), intent(in) :: event
    character(len=:), allocatable, intent(out) :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: index
    if (event%type /= FSE_BYTE) call expect_type(event, FSE_TEXT)
    allocate(character(len=event%count) :: text)
    call c_f_pointer(event%data, letters, [event%count])
    do index = 1, int(event%count)
      text(index:index) = letters(index)
    end do
  end subroutine

  subroutine expect_type(event, kind)
    type(fse_event), intent(in) :: event
    integer, intent(in) :: kind
    if (event%type == kind) return
    call stop_with("the event '" // fse_id(event) // "' was read as " // type_name(kind) // &
        ", and carries " // type_name(event%type))
  end subroutine

  ! What people call a type.
  function type_name(kind) result(name)
    integer, intent(in) :: kind
    character(len=:), allocatable :: name
    character(len=14), parameter :: names(0:11) = [character(len=14) :: "nothing", "int32", &
        "int64", "float", "double", "bytes", "address", "bool", "complex float", &
        "complex double", "int8", "int16"]
    character(len=12) :: number
    integer, parameter :: py_array = 16, py_object = 18
    if (kind == FSE_TEXT) then
      name = "text"
    else if (kind == py_array) then
      name = "an array that only Python reads"
    else if (kind == py_object) then
      name = "an object of Python's"
    else if (kind >= 0 .and. kind <= ubound(names, 1)) then
      name = trim(names(kind))
    else
      write (number, "(i0)") kind
      name = "type " // trim(number)
    end if
  end function

  ! An array has as many elements as the event, and the same extents, if it has as many of these.
  subroutine expect_shape(event, extents)
    type(fse_event), intent(in) :: event
    integer(c_size_t), intent(in) :: extents(:)
    integer :: carried(event%ndims)
    carried = fse_shape(event)
    if (size(extents) == size(carried)) then
      if (all(extents == carried)) then
        if (event%count == product(extents)) return
      end if
    else if (event%count == product(extents)) then
      return
    end if
    call stop_with("fse_value: the event '" // fse_id(event) // "' carries " // &
        listed_extents(int(carried, c_size_t), event%count) // " values, and the variable has " // &
        listed_extents(extents, product(extents)) // "; see fse_shape and fse_values")
  end subroutine

  function listed_extents(extents, count) result(text)
    integer(c_size_t), intent(in) :: extents(:), count
    character(len=:), allocatable :: text
    character(len=20) :: word
    integer :: index
    write (word, "(i0)") count
    text = trim(word)
    if (size(extents) < 2) return
    text = ""
    do index = 1, size(extents)
      write (word, "(i0)") extents(index)
      if (index > 1) text = text // " x "
      text = text // trim(word)
    end do
  end function

  subroutine stop_with(text)
    character(len=*), intent(in) :: text
    error stop text
  end subroutine

  ! A number, a list, or an array of a shape: an array of one element has one, too. Compilers have extents of
  ! -1 for arrays without elements.
  integer function fire(data, kind, extents, to, id, persistent)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: kind
    integer(c_size_t), intent(in) :: extents(:)
    integer(c_size_t) :: counts(size(extents))
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    logical, intent(in), optional :: persistent
    integer, pointer :: targets(:)
    integer :: flags
    counts = max(extents, 0_c_size_t)
    if (size(counts) == 0 .or. (size(counts) == 1 .and. product(counts) /= 1)) then
      fire = fire_list(data, kind, product(counts), to, id, persistent)
      return
    end if
    flags = 0
    if (present(persistent)) flags = merge(FSE_PERSISTENT, 0, persistent)
    call c_f_pointer(c_loc(to), targets, [size(to)])
    fire = c_fire_array(data, kind, size(counts), counts, targets, &
        size(targets, kind=c_size_t), trim(id) // c_null_char, flags)
  end function

  integer function fire_list(data, kind, count, to, id, persistent)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: kind
    integer(c_size_t), intent(in) :: count
    integer, intent(in), target, contiguous :: to(..)
    character(len=*), intent(in) :: id
    logical, intent(in), optional :: persistent
    integer, pointer :: targets(:)
    integer :: flags, index
    flags = 0
    if (present(persistent)) flags = merge(FSE_PERSISTENT, 0, persistent)
    call c_f_pointer(c_loc(to), targets, [size(to)])
    if (size(targets) > 1 .and. flags == 0) then
      fire_list = c_fire_group(data, kind, count, targets, size(targets, kind=c_size_t), &
          trim(id) // c_null_char)
      return
    end if
    fire_list = FSE_OK
    do index = 1, size(targets)
      if (fire_list == FSE_OK) &
          fire_list = c_fire(data, kind, count, targets(index), trim(id) // c_null_char, flags)
    end do
  end function

  ! The dependencies as C has them, and their identifiers, to which they point.
  subroutine listed(list, ids, on)
    type(on_c), allocatable, intent(out) :: list(:)
    character(kind=c_char, len=:), allocatable, target, intent(out) :: ids
    type(fse_dependency), intent(in), optional :: on(:)
    integer :: index, start, length
    allocate(list(0))
    if (.not. present(on)) return
    deallocate(list)
    allocate(list(size(on)))
    allocate(character(kind=c_char, len=size(on) * (FSE_ID_LEN + 1)) :: ids)
    do index = 1, size(on)
      start = (index - 1) * (FSE_ID_LEN + 1) + 1
      length = len_trim(on(index)%id)
      ids(start:start + length) = on(index)%id(1:length) // c_null_char
      list(index) = on_c(on(index)%source, c_loc(ids(start:start)))
    end do
  end subroutine

  subroutine pointed(start, found, events)
    type(c_ptr), intent(in) :: start
    integer(c_int), intent(in) :: found
    type(fse_event), pointer, intent(out) :: events(:)
    nullify(events)
    if (c_associated(start)) call c_f_pointer(start, events, [found])
  end subroutine

  function text_at(start) result(text)
    type(c_ptr), intent(in) :: start
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length, index
    interface
      integer(c_size_t) function strlen(word) bind(c)
        import :: c_size_t, c_ptr
        type(c_ptr), value :: word
      end function
    end interface
    length = int(strlen(start))
    allocate(character(len=length) :: text)
    call c_f_pointer(start, letters, [length])
    do index = 1, length
      text(index:index) = letters(index)
    end do
  end function
end module
