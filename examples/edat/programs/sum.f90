! Two numbers of two ranks are added once both are there, in Fortran.
program test_edat
  use edat
  use iso_c_binding, only : c_ptr, c_int
  implicit none
  integer :: numbers(2)

  call edatInit()
  if (edatGetRank() == 0) then
    call edatFireEvent(12, EDAT_INT, 1, 1, "number")
    call edatFireEvent(EDAT_NOTYPE, 0, 1, "nothing")
  else if (edatGetRank() == 1) then
    call edatSubmitNamedTask(my_task, "sum", 3, 0, "number", EDAT_SELF, "numbers", 0, "nothing")
    numbers = [30, 3]
    call edatFireEvent(numbers, EDAT_INT, 2, EDAT_SELF, "numbers")
    call edatSubmitTask(never, 1, EDAT_ANY, "never")
    call edatSubmitNamedTask(never, "late", 1, EDAT_ANY, "never")
    call edatFireEvent([1.5d0, 2.5d0], EDAT_DOUBLE, 2, EDAT_SELF, "never")
    print *, edatRemoveTask("late"), edatIsTaskSubmitted("late")
  end if
  call edatFinalise()

contains

  recursive subroutine my_task(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    type(EDAT_Event) :: found(number_events)
    call getEvents(events, number_events, found)
    print *, found(1)%int_data(1) + sum(found(2)%int_data), associated(found(3)%int_data)
  end subroutine

  recursive subroutine never(events, number_events)
    type(c_ptr), intent(in), target :: events
    integer(c_int), value, intent(in) :: number_events
    type(EDAT_Event) :: found(number_events)
    call getEvents(events, number_events, found)
    call edatLock("sums")
    print *, trim(found(1)%metadata%event_id), sum(found(1)%double_data), edatTestLock("sums")
  end subroutine
end program
