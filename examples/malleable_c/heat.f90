! Heat in a plate, explicit, with halos: columns of the array are the rows that move.
!
!   mpicc -c halo.c
!   gfortran $PREFIX/include/freestone_malleable.f90 heat.f90 halo.o \
!       $(pkg-config --libs freestone_malleable) -L$MPI/lib -lmpi -o heat
!   FREESTONE_MALLEABLE_TARGETS=10:4,25:2 mpiexec -n 2 ./heat
!
! With the name of a file it saves its state there every 20 steps, and goes on from it if it is there.
program heat
  use, intrinsic :: iso_c_binding
  use freestone_malleable
  implicit none

  interface
    subroutine mpi_begin() bind(c)
    end subroutine
    subroutine mpi_end() bind(c)
    end subroutine
    subroutine mpi_give_up() bind(c)
    end subroutine
    integer(c_int) function mpi_world() bind(c)
      import :: c_int
    end function
    subroutine mpi_shift(own, to, other, from, width, comm) bind(c)
      import :: c_int, c_double
      real(c_double), intent(in) :: own(*)
      real(c_double), intent(inout) :: other(*)
      integer(c_int), value :: to, from, width, comm
    end subroutine
    subroutine mpi_combine(largest, bits, comm) bind(c)
      import :: c_int, c_double, c_long_long
      real(c_double), intent(inout) :: largest
      integer(c_long_long), intent(inout) :: bits
      integer(c_int), value :: comm
    end subroutine
  end interface

  integer, parameter :: width = 300
  integer(c_int64_t), parameter :: rows = 400, steps = 60
  integer(c_int64_t), target :: step = 0
  real(c_double), pointer :: u(:, :)
  real(c_double), allocatable :: with_halo(:, :)
  integer(c_int64_t) :: first, last, row
  integer :: status, above, below, x
  real(c_double) :: largest
  integer(c_long_long) :: bits
  character(len=512) :: state

  call get_command_argument(1, state)
  call mpi_begin()
  call check(fsm_init(mpi_world()))
  call check(fsm_register_rows("u", FSM_VARIABLE, rows, width * 8_c_int64_t))
  call check(fsm_register_replicated("step", c_loc(step), c_sizeof(step)))
  status = FSM_OK
  if (state /= "") status = fsm_load(state)
  call check(status)
  if (status == 0 .and. .not. fsm_is_joining()) then
    call fsm_rows("u", width, u, first)
    do row = 1, size(u, 2)
      do x = 1, width
        u(x, row) = merge(100d0, 0d0, abs(first + row - 1 - rows / 2) < 40 .and. abs(x - width / 2) < 30)
      end do
    end do
  end if

  status = FSM_OK
  do while (fsm_is_joining() .or. step < steps)
    status = fsm_checkpoint(step)
    call check(status)
    if (status == FSM_LEAVE) exit
    if (state /= "" .and. mod(step, 20_c_int64_t) == 0) call check(fsm_save(state))
    call fsm_rows("u", width, u, first)
    last = size(u, 2)
    allocate (with_halo(width, 0:last + 1))
    with_halo = 0
    with_halo(:, 1:last) = u
    above = fsm_rank() - 1
    below = merge(-1, fsm_rank() + 1, fsm_rank() + 1 == fsm_size())
    call mpi_shift(u(:, 1), above, with_halo(:, last + 1), below, width, fsm_comm())
    call mpi_shift(u(:, last), below, with_halo(:, 0), above, width, fsm_comm())
    do row = 1, last
      do x = 2, width - 1
        u(x, row) = with_halo(x, row) + 0.2d0 * (with_halo(x - 1, row) + with_halo(x + 1, row) &
            + with_halo(x, row - 1) + with_halo(x, row + 1) - 4 * with_halo(x, row))
      end do
    end do
    deallocate (with_halo)
    step = step + 1
  end do

  if (status /= FSM_LEAVE) then
    call fsm_rows("u", width, u, first)
    largest = maxval(u)
    bits = 0
    do row = 1, size(u, 2)
      do x = 1, width
        bits = ieor(bits, ishftc(transfer(u(x, row), bits), &
            int(mod((first + row) * width + x, 64_c_int64_t))))
      end do
    end do
    call mpi_combine(largest, bits, fsm_comm())
    if (fsm_rank() == 0) print "(a, i0, a, f0.12, a, z16.16)", "step ", step, ", hottest ", largest, ", bits ", bits
  end if
  call check(fsm_finalise())
  call mpi_end()

contains

  subroutine check(code)
    integer, intent(in) :: code
    if (code >= 0) return
    print *, fsm_error()
    call mpi_give_up()
  end subroutine

end program
