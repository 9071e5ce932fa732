! The first program from Fortran: two numbers that come from two ranks are added once both are there.
module tasks
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
contains
  recursive subroutine add(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    integer(c_int32_t) :: number
    real(c_double), pointer :: weights(:)
    call fse_value(events(1), number)
    call fse_values(events(2), weights)
    if (c_associated(context)) error stop "no context was given"
    print "(a, 1x, f0.1)", fse_id(events(2)), number + sum(weights)
  end subroutine
end module

program main
  use tasks
  implicit none
  integer :: code
  if (fse_init() /= FSE_OK) error stop fse_error()
  if (fse_rank() == 0) then
    code = fse_fire(1, "number", 33)
    if (fse_fire(99, "number", 33) /= FSE_BAD_CALL) error stop "there is no rank 99"
  else if (fse_rank() == 1) then
    code = fse_submit(add, [fse_on(0, "number"), fse_on(FSE_SELF, "weights")])
    code = fse_fire(FSE_SELF, "weights", [1.5_c_double, 2.0_c_double])
  end if
  if (fse_finalise() /= FSE_OK) error stop 1
end program
