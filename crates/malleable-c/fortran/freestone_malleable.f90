! Resizing a running MPI program in Fortran: the calls of freestone_malleable.h, which documents
! them. Communicators are the integers of `use mpi`, and MPI_VAL of those of `use mpi_f08`; rows are
! counted from 1.
!
!   call MPI_Init(code)
!   status = fsm_init(MPI_COMM_WORLD)
!   if (status < 0) ... print fsm_error(), call MPI_Abort ...
!   status = fsm_register_rows("x", FSM_VARIABLE, rows, width * 8_c_int64_t)
!   status = fsm_register_replicated("step", c_loc(step), c_sizeof(step))
!   if (.not. fsm_is_joining()) then ... fill the rows ...
!   do while (step < 100)
!     status = fsm_checkpoint(step)
!     if (status == FSM_LEAVE) exit
!     if (status < 0) ... print fsm_error(), call MPI_Abort ...
!     call fsm_rows("x", width, x, first)   ! real(c_double), pointer :: x(:, :)
!     ...
!     step = step + 1
!   end do
!   status = fsm_finalise()
!   call MPI_Finalize(code)
module freestone_malleable
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  ! What data and the functions of a program are declared with.
  public :: c_int, c_int8_t, c_int16_t, c_int32_t, c_int64_t, c_size_t, c_sizeof, c_float, c_double, &
      c_float_complex, c_double_complex, c_bool, c_char, c_ptr, c_funptr, c_null_ptr, c_null_funptr, c_loc, &
      c_funloc, c_associated, c_f_pointer, c_f_procpointer

  integer(c_int), parameter, public :: FSM_OK = 0, FSM_RESIZED = 1, FSM_LEAVE = 2, &
      FSM_USER_PHASE = 3, FSM_CANCELLED = 4
  integer(c_int), parameter, public :: FSM_DISAGREEMENT = -1, FSM_LAYOUT = -2, FSM_TIMEOUT = -3, &
      FSM_MPI = -4, FSM_MEMORY = -5, FSM_BAD_CALL = -6, FSM_CALLBACK = -7, &
      FSM_STATE = -8
  integer(c_int), parameter, public :: FSM_CONSTANT = 1, FSM_VARIABLE = 2
  integer(c_int), parameter, public :: FSM_MERGE = 1, FSM_BASELINE = 2
  integer(c_int), parameter, public :: FSM_STAYING = 1, FSM_JOINING = 2, FSM_LEAVING = 3

  ! How a job is resized; zeros are defaults. `targets` and `target_file` come from the environment.
  type, bind(c), public :: fsm_config
    integer(c_int) :: method = 0, overlap = 0, user_phase = 0
    type(c_ptr) :: targets = c_null_ptr, target_file = c_null_ptr
    type(c_funptr) :: layout = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
    real(c_double) :: timeout_s = 0, spawn_timeout_s = 0, step_timeout_s = 0
    integer(c_int) :: slots = 0, minimal = 0
    type(c_funptr) :: owner = c_null_funptr
  end type

  ! Which rank, from 0 on, has a row, and where the rows end that it has from there on. Rows count from 0 here, as
  ! in C: `row` + 1 is what `end` is before. For fsm_config: config%owner = c_funloc(function), with bind(c).
  abstract interface
    integer(c_int) function fsm_owner(context, rows, ranks, row, end) bind(c)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: context
      integer(c_int64_t), value :: rows, row
      integer(c_int), value :: ranks
      integer(c_int64_t), intent(inout) :: end
    end function
  end interface

  ! Functions for rows in memory of the program's own, with bind(c).
  type, bind(c), public :: fsm_functions
    type(c_funptr) :: nbytes, pack, adopt, unpack
    type(c_ptr) :: context = c_null_ptr
  end type

  ! The resize that waits for fsm_commit.
  type, public :: fsm_resize_info
    integer :: bridge, sources, targets, old_rank, new_rank
  end type

  type, bind(c) :: numbers_c
    integer(c_intptr_t) :: bridge
    integer(c_int) :: sources, targets, old_rank, new_rank
  end type

  ! Points to the rows of this rank, of `width` elements each, and gives the number of the first. Rows
  ! that have other bytes, or a name that is not registered, end the program with a message, or are
  ! FSM_BAD_CALL in `status`, with no rows; fsm_error() says more. If the job is minimal, or has an
  ! owner function, there may be several runs of rows: `run` says which, from 1 to fsm_runs(name).
  interface fsm_rows
    module procedure rows_double, rows_float, rows_int, rows_long
  end interface

  public :: fsm_owner, fsm_init, fsm_register_rows, fsm_register_replicated, fsm_register_user, fsm_rows, &
      fsm_runs, fsm_rank_of, fsm_set_rows, fsm_save, fsm_load, fsm_held, fsm_checkpoint, fsm_commit, fsm_request, &
      fsm_role, fsm_is_joining, fsm_rank, fsm_size, &
      fsm_resizes, fsm_step, fsm_sent_nbytes, fsm_comm, fsm_resize, fsm_finalise, fsm_error

  interface
    integer(c_int) function c_init(comm, config) bind(c, name="fsm_init_fortran")
      import :: c_int, fsm_config
      integer(c_int), value :: comm
      type(fsm_config), intent(in) :: config
    end function
    integer(c_int) function c_register_rows(name, kind, rows, row_nbytes) &
        bind(c, name="fsm_register_rows")
      import :: c_int, c_int64_t, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: kind
      integer(c_int64_t), value :: rows, row_nbytes
    end function
    integer(c_int) function c_register_replicated(name, address, nbytes) &
        bind(c, name="fsm_register_replicated")
      import :: c_int, c_int64_t, c_char, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: address
      integer(c_int64_t), value :: nbytes
    end function
    integer(c_int) function c_register_user(name, rows, functions) bind(c, name="fsm_register_user")
      import :: c_int, c_int64_t, c_char, fsm_functions
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: rows
      type(fsm_functions), intent(in) :: functions
    end function
    integer(c_int) function c_register_user_runs(name, rows, functions, adopt_runs) &
        bind(c, name="fsm_register_user_runs")
      import :: c_int, c_int64_t, c_char, c_funptr, fsm_functions
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: rows
      type(fsm_functions), intent(in) :: functions
      type(c_funptr), value :: adopt_runs
    end function
    type(c_ptr) function c_rows(name, first, count) bind(c, name="fsm_rows")
      import :: c_ptr, c_int64_t, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: first, count
    end function
    integer(c_int) function c_typed_rows(name, run, row_nbytes, address, first, count) &
        bind(c, name="fsm_typed_rows")
      import :: c_ptr, c_int, c_int64_t, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: run
      integer(c_int64_t), value :: row_nbytes
      type(c_ptr), intent(inout) :: address
      integer(c_int64_t), intent(inout) :: first, count
    end function
    integer(c_int) function c_runs(name) bind(c, name="fsm_runs")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_rank_of(name, row) bind(c, name="fsm_rank_of")
      import :: c_int, c_int64_t, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: row
    end function
    integer(c_int) function c_set_rows(names, length, count) bind(c, name="fsm_set_rows")
      import :: c_ptr, c_int, c_int64_t
      type(c_ptr), intent(in) :: names(*)
      integer(c_int), value :: length
      integer(c_int64_t), value :: count
    end function
    integer(c_int) function c_save(path) bind(c, name="fsm_save")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_load(path) bind(c, name="fsm_load")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function fsm_checkpoint(step) bind(c)
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: step
    end function
    integer(c_int) function fsm_commit() bind(c)
      import :: c_int
    end function
    integer(c_int) function fsm_request(size) bind(c)
      import :: c_int
      integer(c_int), value :: size
    end function
    integer(c_int) function fsm_role() bind(c)
      import :: c_int
    end function
    integer(c_int) function c_is_joining() bind(c, name="fsm_is_joining")
      import :: c_int
    end function
    integer(c_int) function fsm_rank() bind(c)
      import :: c_int
    end function
    integer(c_int) function fsm_size() bind(c)
      import :: c_int
    end function
    integer(c_int) function fsm_resizes() bind(c)
      import :: c_int
    end function
    integer(c_int64_t) function fsm_step() bind(c)
      import :: c_int64_t
    end function
    integer(c_int64_t) function fsm_sent_nbytes() bind(c)
      import :: c_int64_t
    end function
    integer(c_intptr_t) function c_comm() bind(c, name="fsm_comm_handle")
      import :: c_intptr_t
    end function
    integer(c_int) function c_to_fortran(comm) bind(c, name="fsm_to_fortran")
      import :: c_int, c_intptr_t
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function c_resize(info) bind(c, name="fsm_resize_handle")
      import :: c_int, numbers_c
      type(numbers_c), intent(out) :: info
    end function
    integer(c_int) function fsm_finalise() bind(c)
      import :: c_int
    end function
    type(c_ptr) function c_error() bind(c, name="fsm_error")
      import :: c_ptr
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  integer function fsm_init(comm, config)
    integer, intent(in) :: comm
    type(fsm_config), intent(in), optional :: config
    if (present(config)) then
      fsm_init = c_init(comm, config)
    else
      fsm_init = c_init(comm, fsm_config())
    end if
  end function

  integer function fsm_register_rows(name, kind, rows, row_nbytes)
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    integer(c_int64_t), intent(in) :: rows, row_nbytes
    fsm_register_rows = c_register_rows(trim(name)//c_null_char, kind, rows, row_nbytes)
  end function

  integer function fsm_register_replicated(name, address, nbytes)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: address
    integer(c_size_t), intent(in) :: nbytes
    fsm_register_replicated = &
        c_register_replicated(trim(name)//c_null_char, address, int(nbytes, c_int64_t))
  end function

  ! With adopt_runs in place of functions%adopt a rank may have several runs of these rows.
  integer function fsm_register_user(name, rows, functions, adopt_runs)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: rows
    type(fsm_functions), intent(in) :: functions
    type(c_funptr), intent(in), optional :: adopt_runs
    if (present(adopt_runs)) then
      fsm_register_user = c_register_user_runs(trim(name)//c_null_char, rows, functions, adopt_runs)
    else
      fsm_register_user = c_register_user(trim(name)//c_null_char, rows, functions)
    end if
  end function

  ! Gives variable data other numbers of rows, any on each rank; all ranks call it together.
  integer function fsm_set_rows(names, count)
    character(len=*), intent(in) :: names(:)
    integer(c_int64_t), intent(in) :: count
    character(kind=c_char, len=len(names) + 1), target :: words(size(names))
    type(c_ptr) :: addresses(size(names))
    integer :: at
    do at = 1, size(names)
      words(at) = trim(names(at))//c_null_char
      addresses(at) = c_loc(words(at)(1:1))
    end do
    fsm_set_rows = c_set_rows(addresses, size(names, kind=c_int), count)
  end function

  ! Writes all registered data into a file; all ranks call it together, at the head of a step.
  integer function fsm_save(path)
    character(len=*), intent(in) :: path
    fsm_save = c_save(trim(path)//c_null_char)
  end function

  ! Reads it, before the first checkpoint: 1, or 0 if there is no file.
  integer function fsm_load(path)
    character(len=*), intent(in) :: path
    fsm_load = c_load(trim(path)//c_null_char)
  end function

  ! How many runs of rows this rank has.
  integer function fsm_runs(name)
    character(len=*), intent(in) :: name
    fsm_runs = c_runs(trim(name)//c_null_char)
  end function

  ! The rank that has a row, whose number counts from 1.
  integer function fsm_rank_of(name, row)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: row
    fsm_rank_of = c_rank_of(trim(name)//c_null_char, row - 1)
  end function

  ! Where rows are, the number of the first one, from 1 on, and how many there are.
  type(c_ptr) function fsm_held(name, first, count)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(out) :: first, count
    first = 0
    count = 0
    fsm_held = c_rows(trim(name)//c_null_char, first, count)
    first = first + 1
  end function

  ! Where rows of `width` elements of so many bits are, and the sizes of an array of them.
  type(c_ptr) function typed_rows(name, width, bits, first, sizes, status, run)
    character(len=*), intent(in) :: name
    integer, intent(in) :: width, bits
    integer(c_int64_t), intent(out) :: first, sizes(2)
    integer, intent(out), optional :: status
    integer, intent(in), optional :: run
    integer :: found, at
    at = -1
    if (present(run)) at = run - 1
    first = 0
    sizes = 0
    typed_rows = c_null_ptr
    found = c_typed_rows(trim(name)//c_null_char, at, width * int(bits / 8, c_int64_t), typed_rows, &
        first, sizes(2))
    if (present(status)) status = found
    if (found < 0 .and. .not. present(status)) then
      write (error_unit, "(a)") fsm_error()
      error stop 1
    end if
    if (found < 0) return
    first = first + 1
    sizes(1) = width
  end function

  subroutine rows_double(name, width, values, first, status, run)
    character(len=*), intent(in) :: name
    integer, intent(in) :: width
    real(c_double), pointer, intent(out) :: values(:, :)
    integer(c_int64_t), intent(out) :: first
    integer, intent(out), optional :: status
    integer, intent(in), optional :: run
    type(c_ptr) :: address
    integer(c_int64_t) :: sizes(2)
    address = typed_rows(name, width, storage_size(values), first, sizes, status, run)
    call c_f_pointer(address, values, sizes)
  end subroutine

  subroutine rows_float(name, width, values, first, status, run)
    character(len=*), intent(in) :: name
    integer, intent(in) :: width
    real(c_float), pointer, intent(out) :: values(:, :)
    integer(c_int64_t), intent(out) :: first
    integer, intent(out), optional :: status
    integer, intent(in), optional :: run
    type(c_ptr) :: address
    integer(c_int64_t) :: sizes(2)
    address = typed_rows(name, width, storage_size(values), first, sizes, status, run)
    call c_f_pointer(address, values, sizes)
  end subroutine

  subroutine rows_int(name, width, values, first, status, run)
    character(len=*), intent(in) :: name
    integer, intent(in) :: width
    integer(c_int32_t), pointer, intent(out) :: values(:, :)
    integer(c_int64_t), intent(out) :: first
    integer, intent(out), optional :: status
    integer, intent(in), optional :: run
    type(c_ptr) :: address
    integer(c_int64_t) :: sizes(2)
    address = typed_rows(name, width, storage_size(values), first, sizes, status, run)
    call c_f_pointer(address, values, sizes)
  end subroutine

  subroutine rows_long(name, width, values, first, status, run)
    character(len=*), intent(in) :: name
    integer, intent(in) :: width
    integer(c_int64_t), pointer, intent(out) :: values(:, :)
    integer(c_int64_t), intent(out) :: first
    integer, intent(out), optional :: status
    integer, intent(in), optional :: run
    type(c_ptr) :: address
    integer(c_int64_t) :: sizes(2)
    address = typed_rows(name, width, storage_size(values), first, sizes, status, run)
    call c_f_pointer(address, values, sizes)
  end subroutine

  logical function fsm_is_joining()
    fsm_is_joining = c_is_joining() /= 0
  end function

  ! The communicator of the ranks that are in the job; -1 on a process that is not.
  integer function fsm_comm()
    integer(c_intptr_t) :: comm
    comm = c_comm()
    fsm_comm = -1
    if (comm /= 0) fsm_comm = c_to_fortran(comm)
  end function

  integer function fsm_resize(info)
    type(fsm_resize_info), intent(out) :: info
    type(numbers_c) :: found
    fsm_resize = c_resize(found)
    if (fsm_resize < 0) return
    info = fsm_resize_info(c_to_fortran(found%bridge), found%sources, found%targets, &
        found%old_rank, found%new_rank)
  end function

  function fsm_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: address
    integer(c_size_t) :: at
    address = c_error()
    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate (character(len=size(letters)) :: text)
    do at = 1, size(letters)
      text(at:at) = letters(at)
    end do
  end function

end module
