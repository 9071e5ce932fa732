! SPMD programs as tasks driven by events, for Fortran 2018: the calls of freestone_events.h.
!
! Tasks are subroutines with bind(c) and the interface `task`; they run at the same time as the
! program and each other, so they are recursive and keep no saved variables without a lock. Calls
! return FSE_OK or what they counted, or an error, which is negative; see fse_error.
module freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: FSE_SELF = -1, FSE_ALL = -2, FSE_ANY = -3
  integer, parameter, public :: FSE_NONE = 0, FSE_INT = 1, FSE_LONG = 2, FSE_FLOAT = 3, &
      FSE_DOUBLE = 4, FSE_BYTE = 5, FSE_ADDRESS = 6, FSE_BOOL = 7
  integer, parameter, public :: FSE_OK = 0, FSE_TASK_FAILED = -1, FSE_RANK_LOST = -2, &
      FSE_STUCK = -3, FSE_OVER = -4, FSE_BAD_CALL = -5, FSE_IN_TASK = -6, FSE_TIMEOUT = -7, &
      FSE_NOT_HELD = -8, FSE_TRANSPORT = -9, FSE_NO_START = -10
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

  ! Fires nothing, a number, a logical, or an array of them: fse_fire(to, id, [values]). That the
  ! event is persistent has to be named: fse_fire(to, id, persistent=.true.).
  interface fse_fire
    module procedure fire_nothing, fire_int, fire_long, fire_float, fire_double, fire_ints, &
        fire_longs, fire_floats, fire_doubles, fire_logical, fire_bool, fire_logicals, fire_bools
  end interface

  ! Reads the number or the logical that an event carries: call fse_value(event, number). An event
  ! with another type, or with more or fewer than one, ends the program.
  interface fse_value
    module procedure value_int, value_long, value_float, value_double, value_logical, value_bool
  end interface

  ! Points to the numbers, or the logical(c_bool), that an event carries, for as long as the task
  ! runs.
  interface fse_values
    module procedure values_int, values_long, values_float, values_double, values_bool
  end interface

  ! Events of lost ranks, and of those that have joined.
  character(len=*), parameter, public :: FSE_RANK_LOST_EVENT = "rank_lost", &
      FSE_RANK_JOINED_EVENT = "rank_joined"

  public :: fse_init, fse_finalise, fse_rank, fse_ranks, fse_has_joined, fse_error, fse_on, &
      fse_submit, fse_fire, fse_fire_address, fse_wait, fse_retrieve_any, fse_free, fse_value, fse_values, fse_id, &
      fse_lock, fse_try_lock, fse_unlock, fse_is_submitted, fse_remove, fse_after, fse_every, &
      fse_when_readable, fse_when_memory_below, fse_when_load_above, fse_stop, fse_drain, fse_fail

  interface
    integer(c_int) function c_init(config) bind(c, name="fse_init")
      import :: c_int, c_ptr
      type(c_ptr), value :: config
    end function
    integer(c_int) function fse_finalise() bind(c)
      import :: c_int
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
    type(c_ptr) function c_error() bind(c, name="fse_error")
      import :: c_ptr
    end function
    integer(c_int) function c_submit(body, context, on, count, flags, name) &
        bind(c, name="fse_submit_on")
      import :: c_int, c_ptr, c_funptr, c_size_t, on_c
      type(c_funptr), value :: body
      type(c_ptr), value :: context
      type(on_c), intent(in) :: on(*)
      integer(c_size_t), value :: count
      integer(c_int), value :: flags
      type(c_ptr), value :: name
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

  ! Submits a task that needs these events; at once, if there are none.
  integer function fse_submit(body, on, flags, name, context)
    procedure(task) :: body
    type(fse_dependency), intent(in), optional :: on(:)
    integer, intent(in), optional :: flags
    character(len=*), intent(in), optional :: name
    type(c_ptr), intent(in), optional :: context
    character(kind=c_char, len=:), allocatable, target :: ids, word
    type(on_c), allocatable :: list(:)
    type(c_ptr) :: given, called
    integer :: how
    call listed(list, ids, on)
    given = c_null_ptr
    if (present(context)) given = context
    how = 0
    if (present(flags)) how = flags
    called = c_null_ptr
    if (present(name)) then
      word = name // c_null_char
      called = c_loc(word)
    end if
    fse_submit = c_submit(c_funloc(body), given, list, size(list, kind=c_size_t), how, called)
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

  ! A logical without a name would be what the event carries: `named` keeps the two apart.
  integer function fire_nothing(to, id, named, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    type(by_name), intent(in), optional :: named
    logical, intent(in), optional :: persistent
    if (present(named)) continue
    fire_nothing = fire(c_null_ptr, FSE_NONE, 0_c_size_t, to, id, persistent)
  end function

  integer function fire_int(to, id, number, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    integer(c_int32_t), intent(in), target :: number
    logical, intent(in), optional :: persistent
    fire_int = fire(c_loc(number), FSE_INT, 1_c_size_t, to, id, persistent)
  end function

  integer function fire_ints(to, id, numbers, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    integer(c_int32_t), intent(in), target, contiguous :: numbers(:)
    logical, intent(in), optional :: persistent
    fire_ints = fire(c_loc(numbers), FSE_INT, size(numbers, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_int(event, number)
    type(fse_event), intent(in) :: event
    integer(c_int32_t), intent(out) :: number
    integer(c_int32_t), pointer :: numbers(:)
    call values_int(event, numbers)
    call expect_one(event)
    number = numbers(1)
  end subroutine

  subroutine values_int(event, numbers)
    type(fse_event), intent(in) :: event
    integer(c_int32_t), pointer, intent(out) :: numbers(:)
    call expect_type(event, FSE_INT)
    call c_f_pointer(event%data, numbers, [event%count])
  end subroutine

  integer function fire_long(to, id, number, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    integer(c_int64_t), intent(in), target :: number
    logical, intent(in), optional :: persistent
    fire_long = fire(c_loc(number), FSE_LONG, 1_c_size_t, to, id, persistent)
  end function

  integer function fire_longs(to, id, numbers, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    integer(c_int64_t), intent(in), target, contiguous :: numbers(:)
    logical, intent(in), optional :: persistent
    fire_longs = fire(c_loc(numbers), FSE_LONG, size(numbers, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_long(event, number)
    type(fse_event), intent(in) :: event
    integer(c_int64_t), intent(out) :: number
    integer(c_int64_t), pointer :: numbers(:)
    call values_long(event, numbers)
    call expect_one(event)
    number = numbers(1)
  end subroutine

  subroutine values_long(event, numbers)
    type(fse_event), intent(in) :: event
    integer(c_int64_t), pointer, intent(out) :: numbers(:)
    call expect_type(event, FSE_LONG)
    call c_f_pointer(event%data, numbers, [event%count])
  end subroutine

  integer function fire_float(to, id, number, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    real(c_float), intent(in), target :: number
    logical, intent(in), optional :: persistent
    fire_float = fire(c_loc(number), FSE_FLOAT, 1_c_size_t, to, id, persistent)
  end function

  integer function fire_floats(to, id, numbers, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    real(c_float), intent(in), target, contiguous :: numbers(:)
    logical, intent(in), optional :: persistent
    fire_floats = fire(c_loc(numbers), FSE_FLOAT, size(numbers, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_float(event, number)
    type(fse_event), intent(in) :: event
    real(c_float), intent(out) :: number
    real(c_float), pointer :: numbers(:)
    call values_float(event, numbers)
    call expect_one(event)
    number = numbers(1)
  end subroutine

  subroutine values_float(event, numbers)
    type(fse_event), intent(in) :: event
    real(c_float), pointer, intent(out) :: numbers(:)
    call expect_type(event, FSE_FLOAT)
    call c_f_pointer(event%data, numbers, [event%count])
  end subroutine

  integer function fire_double(to, id, number, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    real(c_double), intent(in), target :: number
    logical, intent(in), optional :: persistent
    fire_double = fire(c_loc(number), FSE_DOUBLE, 1_c_size_t, to, id, persistent)
  end function

  integer function fire_doubles(to, id, numbers, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    real(c_double), intent(in), target, contiguous :: numbers(:)
    logical, intent(in), optional :: persistent
    fire_doubles = fire(c_loc(numbers), FSE_DOUBLE, size(numbers, kind=c_size_t), to, id, persistent)
  end function

  subroutine value_double(event, number)
    type(fse_event), intent(in) :: event
    real(c_double), intent(out) :: number
    real(c_double), pointer :: numbers(:)
    call values_double(event, numbers)
    call expect_one(event)
    number = numbers(1)
  end subroutine

  subroutine values_double(event, numbers)
    type(fse_event), intent(in) :: event
    real(c_double), pointer, intent(out) :: numbers(:)
    call expect_type(event, FSE_DOUBLE)
    call c_f_pointer(event%data, numbers, [event%count])
  end subroutine

  integer function fire_bool(to, id, flag, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    logical(c_bool), intent(in), target :: flag
    logical, intent(in), optional :: persistent
    fire_bool = fire(c_loc(flag), FSE_BOOL, 1_c_size_t, to, id, persistent)
  end function

  integer function fire_bools(to, id, flags, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    logical(c_bool), intent(in), target, contiguous :: flags(:)
    logical, intent(in), optional :: persistent
    fire_bools = fire(c_loc(flags), FSE_BOOL, size(flags, kind=c_size_t), to, id, persistent)
  end function

  integer function fire_logical(to, id, flag, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    logical, intent(in) :: flag
    logical, intent(in), optional :: persistent
    fire_logical = fire_bool(to, id, logical(flag, c_bool), persistent)
  end function

  integer function fire_logicals(to, id, flags, persistent)
    integer, intent(in) :: to
    character(len=*), intent(in) :: id
    logical, intent(in) :: flags(:)
    logical, intent(in), optional :: persistent
    fire_logicals = fire_bools(to, id, logical(flags, c_bool), persistent)
  end function

  subroutine value_bool(event, flag)
    type(fse_event), intent(in) :: event
    logical(c_bool), intent(out) :: flag
    logical(c_bool), pointer :: flags(:)
    call values_bool(event, flags)
    call expect_one(event)
    flag = flags(1)
  end subroutine

  subroutine value_logical(event, flag)
    type(fse_event), intent(in) :: event
    logical, intent(out) :: flag
    logical(c_bool) :: found
    call value_bool(event, found)
    flag = found
  end subroutine

  subroutine values_bool(event, flags)
    type(fse_event), intent(in) :: event
    logical(c_bool), pointer, intent(out) :: flags(:)
    call expect_type(event, FSE_BOOL)
    call c_f_pointer(event%data, flags, [event%count])
  end subroutine

  subroutine expect_type(event, kind)
    type(fse_event), intent(in) :: event
    integer, intent(in) :: kind
    if (event%type /= kind) error stop "an event was read as a type that it does not carry"
  end subroutine

  subroutine expect_one(event)
    type(fse_event), intent(in) :: event
    if (event%count /= 1) error stop "fse_value: an event carries not one value; see fse_values"
  end subroutine

  integer function fire(data, kind, count, to, id, persistent)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: kind, to
    integer(c_size_t), intent(in) :: count
    character(len=*), intent(in) :: id
    logical, intent(in), optional :: persistent
    integer :: flags
    flags = 0
    if (present(persistent)) flags = merge(FSE_PERSISTENT, 0, persistent)
    fire = c_fire(data, kind, count, to, trim(id) // c_null_char, flags)
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
