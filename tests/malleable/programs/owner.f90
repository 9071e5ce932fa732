! Rows dealt in turn by a function of Fortran, through a resize from 2 to 3 ranks.
module dealing
  use freestone_malleable
  implicit none
contains
  integer(c_int) function in_turn(context, rows, ranks, row, end) bind(c)
    type(c_ptr), value :: context
    integer(c_int64_t), value :: rows, row
    integer(c_int), value :: ranks
    integer(c_int64_t), intent(inout) :: end
    if (c_associated(context)) error stop 9
    end = min(row / 4 * 4 + 4, rows)
    in_turn = int(mod(row / 4, int(ranks, c_int64_t)), c_int)
  end function
end module

program owner
  use freestone_malleable
  use dealing
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
  procedure(fsm_owner), pointer :: function => in_turn
  type(fsm_config) :: config

  call begin_mpi(comm)
  config%owner = c_funloc(function)
  if (fsm_init(comm, config) < 0) error stop 2
  step = 0
  if (fsm_register_rows("x", FSM_VARIABLE, 50_c_int64_t, 16_c_int64_t) < 0) error stop 2
  if (fsm_register_replicated("step", c_loc(step), c_sizeof(step)) < 0) error stop 2
  if (.not. fsm_is_joining()) then
    do run = 1, fsm_runs("x")
      call fsm_rows("x", 2, x, first, run=run)
      x(2, :) = [(first + row, row=0, size(x, 2) - 1)]
    end do
  end if
  do while (step < 6)
    status = fsm_checkpoint(step)
    if (status < 0) error stop 3
    if (status == FSM_LEAVE) exit
    do run = 1, fsm_runs("x")
      call fsm_rows("x", 2, x, first, run=run)
      if (any(x(2, :) /= [(first + row, row=0, size(x, 2) - 1)])) error stop 4
      if (fsm_rank_of("x", first) /= fsm_rank()) error stop 5
      if (mod((first - 1) / 4, int(fsm_size(), c_int64_t)) /= fsm_rank()) error stop 6
    end do
    step = step + 1
  end do
  if (fsm_rank() == 0) print "(i0, a, i0, a)", fsm_size(), " ranks, ", fsm_runs("x"), " runs"
  if (fsm_finalise() < 0) error stop 2
  call end_mpi()
end program
