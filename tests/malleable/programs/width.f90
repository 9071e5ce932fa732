! Rows of two doubles, taken as others by the first argument.
program width
  use freestone_malleable
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine begin_mpi(comm) bind(c)
      import :: c_int
      integer(c_int), intent(out) :: comm
    end subroutine
    subroutine end_mpi() bind(c)
    end subroutine
  end interface
  integer(c_int) :: comm
  integer :: status
  integer(c_int64_t) :: first
  real(c_double), pointer :: x(:, :)
  real(c_float), pointer :: y(:, :)
  character(len=20) :: asked

  call begin_mpi(comm)
  call get_command_argument(1, asked)
  if (fsm_init(comm) < 0) error stop 2
  if (fsm_register_rows("x", FSM_VARIABLE, 100_c_int64_t, 16_c_int64_t) < 0) error stop 2
  if (fsm_register_rows("none", FSM_VARIABLE, 0_c_int64_t, 16_c_int64_t) < 0) error stop 2
  call fsm_rows("none", 2, x, first, status)
  if (status < 0 .or. any(shape(x) /= [2, 0])) error stop 6
  if (fsm_checkpoint(0_c_int64_t) < 0) error stop 7
  if (fsm_set_rows(["none"], 3_c_int64_t) < 0 .or. fsm_set_rows(["none"], 0_c_int64_t) < 0) error stop 8
  call fsm_rows("none", 2, x, first, status)
  if (status < 0 .or. any(shape(x) /= [2, 0])) error stop 6
  call fsm_rows("x", 2, x, first, status)
  if (status < 0 .or. any(shape(x) /= [2, 100]) .or. first /= 1) error stop 3
  x = 7
  if (asked == "stop") call fsm_rows("x", 3, x, first)
  call fsm_rows("x", 3, x, first, status)
  call report("width 3")
  call fsm_rows("x", -1, x, first, status)
  call report("width -1")
  call fsm_rows("nope", 1, x, first, status)
  call report("nope")
  call fsm_rows("x", 2, y, first, status)
  call report("float")
  if (size(y) /= 0) error stop 5
  call fsm_rows("x", 4, y, first, status)
  if (status < 0 .or. size(y) /= 400) error stop 4
  if (fsm_finalise() < 0) error stop 2
  call end_mpi()

contains

  subroutine report(what)
    character(len=*), intent(in) :: what
    print "(a, i0, 2a)", what//": ", status, " ", fsm_error()
    if (size(x) /= 0) error stop 5
  end subroutine
end program
