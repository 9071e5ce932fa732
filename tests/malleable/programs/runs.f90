! Rows in several runs by the Fortran module, through a resize from 3 to 4 ranks.
program runs
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
  integer :: run, status
  integer(c_int64_t), target :: step
  integer(c_int64_t) :: first, row
  integer(c_int64_t), pointer :: x(:, :)

  call begin_mpi(comm)
  if (fsm_init(comm, fsm_config(minimal=1)) < 0) error stop 2
  step = 0
  if (fsm_register_rows("x", FSM_VARIABLE, 1200_c_int64_t, 16_c_int64_t) < 0) error stop 2
  if (fsm_register_replicated("step", c_loc(step), c_sizeof(step)) < 0) error stop 2
  if (.not. fsm_is_joining()) then
    call fsm_rows("x", 2, x, first, run=1)
    x(2, :) = [(first + row, row=0, size(x, 2) - 1)]
  end if
  do while (step < 6)
    status = fsm_checkpoint(step)
    if (status < 0) error stop 3
    if (status == FSM_LEAVE) exit
    do run = 1, fsm_runs("x")
      call fsm_rows("x", 2, x, first, run=run)
      if (any(x(2, :) /= [(first + row, row=0, size(x, 2) - 1)])) error stop 4
      if (fsm_rank_of("x", first) /= fsm_rank()) error stop 5
    end do
    step = step + 1
  end do
  call fsm_rows("x", 2, x, first, status, 9)
  if (fsm_rank() == 3) print "(i0, 2a)", fsm_runs("x"), " runs: ", fsm_error()
  if (fsm_finalise() < 0) error stop 2
  call end_mpi()
end program
