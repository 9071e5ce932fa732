! The module of EDAT for Fortran, on freestone: its programs compile unchanged with this file and
! edat.c. Arrays and numbers of each type are fired by one procedure.
module edat
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: EDAT_NOTYPE = 0, EDAT_NONE = 0, EDAT_INT = 1, EDAT_FLOAT = 2, &
      EDAT_DOUBLE = 3, EDAT_BYTE = 4, EDAT_ADDRESS = 5, EDAT_LONG = 6
  integer, parameter, public :: EDAT_ALL = -1, EDAT_ANY = -2, EDAT_SELF = -3

  ! The longest identifier.
  integer, parameter :: ID_LEN = 100

  type, bind(c) :: metadata_c
    integer(c_int) :: data_type, number_elements, source
    type(c_ptr) :: event_id
  end type

  type, bind(c) :: event_c
    type(c_ptr) :: data
    type(metadata_c) :: metadata
  end type

  type, public :: EDAT_Metadata
    integer :: data_type, number_elements, source
    character(len=ID_LEN) :: event_id
  end type

  type, public :: EDAT_Event
    integer, pointer, dimension(:) :: int_data => null()
    character, pointer, dimension(:) :: byte_data => null()
    real(kind=4), pointer, dimension(:) :: float_data => null()
    real(kind=8), pointer, dimension(:) :: double_data => null()
    integer(kind=8), pointer, dimension(:) :: long_data => null()
    type(EDAT_Metadata) :: metadata
  end type

  abstract interface
    subroutine edatTask(events, number_events)
      import :: c_ptr, c_int
      type(c_ptr), intent(in), target :: events
      integer(c_int), value, intent(in) :: number_events
    end subroutine
  end interface

  interface
    subroutine edatInit() bind(c, name="edatInit")
    end subroutine
    subroutine edatFinalise() bind(c, name="edatFinalise")
    end subroutine
    integer(c_int) function edatGetRank() bind(c, name="edatGetRank")
      import :: c_int
    end function
    integer(c_int) function edatGetNumRanks() bind(c, name="edatGetNumRanks")
      import :: c_int
    end function
    subroutine edatLockComms() bind(c, name="edatLockComms")
    end subroutine
    subroutine edatUnlockComms() bind(c, name="edatUnlockComms")
    end subroutine
    subroutine init_c(count, keys, values) bind(c, name="edatInitWithConfiguration")
      import :: c_int, c_ptr
      integer(c_int), value :: count
      type(c_ptr), intent(in) :: keys(*), values(*)
    end subroutine
    subroutine init_on_c(comm) bind(c, name="edatInitialiseWithCommunicator")
      import :: c_int
      integer(c_int), value :: comm
    end subroutine
    subroutine submit_c(task, name, count, ranks, ids, persistent, greedy) &
        bind(c, name="edatSubmitTask_f")
      import :: c_funptr, c_ptr, c_int, c_bool
      type(c_funptr), value :: task
      type(c_ptr), value :: name
      integer(c_int), value :: count
      type(c_ptr), intent(in) :: ranks
      type(c_ptr), intent(in) :: ids(*)
      logical(c_bool), value :: persistent, greedy
    end subroutine
    subroutine fire_c(data, kind, count, to, id) bind(c, name="edatFireEvent")
      import :: c_ptr, c_int, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: kind, count, to
      character(kind=c_char), intent(in) :: id(*)
    end subroutine
    subroutine fire_persistent_c(data, kind, count, to, id) bind(c, name="edatFirePersistentEvent")
      import :: c_ptr, c_int, c_char
      type(c_ptr), value :: data
      integer(c_int), value :: kind, count, to
      character(kind=c_char), intent(in) :: id(*)
    end subroutine
    integer(c_int) function is_submitted_c(name) bind(c, name="edatIsTaskSubmitted")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function remove_c(name) bind(c, name="edatRemoveTask")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function
    subroutine lock_c(name) bind(c, name="edatLock")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine unlock_c(name) bind(c, name="edatUnlock")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    integer(c_int) function test_lock_c(name) bind(c, name="edatTestLock")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_size_t) function strlen(word) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: word
    end function
  end interface

  interface edatFireEvent
    module procedure fire_integer, fire_long, fire_float, fire_double, fire_character, &
        fire_nothing
  end interface

  interface edatFirePersistentEvent
    module procedure persist_integer, persist_long, persist_float, persist_double, &
        persist_character
  end interface

  public :: edatInit, edatInitWithConfiguration, edatInitialiseWithCommunicator, edatFinalise, &
      edatGetRank, edatGetNumRanks, edatFireEvent, edatFirePersistentEvent, edatSubmitTask, &
      edatSubmitNamedTask, edatSubmitPersistentTask, edatSubmitPersistentNamedTask, &
      edatSubmitPersistentGreedyTask, edatSubmitPersistentNamedGreedyTask, edatIsTaskSubmitted, &
      edatRemoveTask, edatLock, edatUnlock, edatTestLock, edatLockComms, edatUnlockComms, getEvents

contains

  subroutine edatInitWithConfiguration(num_entries, keys, values)
    integer, intent(in) :: num_entries
    character(len=*), intent(in) :: keys(num_entries), values(num_entries)
    character(kind=c_char, len=ID_LEN), target :: words(2 * num_entries)
    type(c_ptr) :: starts(2 * num_entries)
    integer :: index
    do index = 1, num_entries
      words(index) = trim(adjustl(keys(index))) // c_null_char
      words(num_entries + index) = trim(adjustl(values(index))) // c_null_char
    end do
    do index = 1, 2 * num_entries
      starts(index) = c_loc(words(index))
    end do
    call init_c(num_entries, starts(:num_entries), starts(num_entries + 1:))
  end subroutine

  ! Needs edat_mpi.c.
  subroutine edatInitialiseWithCommunicator(comm)
    integer, intent(in) :: comm
    call init_on_c(comm)
  end subroutine

  ! The events of a task: of each, the pointer is associated that its type has.
  subroutine getEvents(events, number_events, processed_events)
    type(c_ptr), intent(in), target :: events
    integer, intent(in) :: number_events
    type(EDAT_Event), dimension(number_events), intent(inout) :: processed_events
    type(event_c), pointer :: raw(:)
    integer :: index
    call c_f_pointer(c_loc(events), raw, [number_events])
    do index = 1, number_events
      call get_event(raw(index), processed_events(index))
    end do
  end subroutine

  subroutine get_event(raw, event)
    type(event_c), intent(in) :: raw
    type(EDAT_Event), intent(inout) :: event
    character(kind=c_char), pointer :: letters(:)
    integer :: index, count
    event = EDAT_Event(metadata=EDAT_Metadata(raw%metadata%data_type, &
        raw%metadata%number_elements, raw%metadata%source, ""))
    call c_f_pointer(raw%metadata%event_id, letters, [strlen(raw%metadata%event_id)])
    do index = 1, min(size(letters), ID_LEN)
      event%metadata%event_id(index:index) = letters(index)
    end do
    count = raw%metadata%number_elements
    select case (raw%metadata%data_type)
    case (EDAT_INT)
      call c_f_pointer(raw%data, event%int_data, [count])
    case (EDAT_LONG)
      call c_f_pointer(raw%data, event%long_data, [count])
    case (EDAT_FLOAT)
      call c_f_pointer(raw%data, event%float_data, [count])
    case (EDAT_DOUBLE)
      call c_f_pointer(raw%data, event%double_data, [count])
    case (EDAT_BYTE)
      call c_f_pointer(raw%data, event%byte_data, [count])
    end select
  end subroutine

  logical function edatIsTaskSubmitted(task_name)
    character(len=*), intent(in) :: task_name
    edatIsTaskSubmitted = is_submitted_c(word(task_name)) == 1
  end function

  logical function edatRemoveTask(task_name)
    character(len=*), intent(in) :: task_name
    edatRemoveTask = remove_c(word(task_name)) == 1
  end function

  subroutine edatLock(lock_name)
    character(len=*), intent(in) :: lock_name
    call lock_c(word(lock_name))
  end subroutine

  subroutine edatUnlock(lock_name)
    character(len=*), intent(in) :: lock_name
    call unlock_c(word(lock_name))
  end subroutine

  logical function edatTestLock(lock_name)
    character(len=*), intent(in) :: lock_name
    edatTestLock = test_lock_c(word(lock_name)) == 1
  end function

  function word(text)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: word
    word = trim(adjustl(text)) // c_null_char
  end function

  subroutine fire_nothing(data_type, data_count, target_rank, event_id)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_null_ptr, data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine fire_integer(user_data, data_type, data_count, target_rank, event_id)
    integer(c_int), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine fire_long(user_data, data_type, data_count, target_rank, event_id)
    integer(c_int64_t), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine fire_float(user_data, data_type, data_count, target_rank, event_id)
    real(c_float), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine fire_double(user_data, data_type, data_count, target_rank, event_id)
    real(c_double), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine fire_character(user_data, data_type, data_count, target_rank, event_id)
    character(kind=c_char), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine persist_integer(user_data, data_type, data_count, target_rank, event_id)
    integer(c_int), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_persistent_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine persist_long(user_data, data_type, data_count, target_rank, event_id)
    integer(c_int64_t), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_persistent_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine persist_float(user_data, data_type, data_count, target_rank, event_id)
    real(c_float), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_persistent_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine persist_double(user_data, data_type, data_count, target_rank, event_id)
    real(c_double), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_persistent_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine persist_character(user_data, data_type, data_count, target_rank, event_id)
    character(kind=c_char), intent(in), target, contiguous :: user_data(..)
    integer, intent(in) :: data_type, data_count, target_rank
    character(len=*), intent(in) :: event_id
    call fire_persistent_c(c_loc(user_data), data_type, data_count, target_rank, word(event_id))
  end subroutine

  subroutine edatSubmitTask(task, number_dependencies, eA_rank, eA_id, eB_rank, eB_id, eC_rank, &
      eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, eH_rank, eH_id)
    procedure(edatTask) :: task
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, "", number_dependencies, .false., .false., eA_rank, eA_id, eB_rank, &
        eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
        eH_rank, eH_id)
  end subroutine

  subroutine edatSubmitNamedTask(task, task_name, number_dependencies, eA_rank, eA_id, eB_rank, &
      eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
      eH_rank, eH_id)
    procedure(edatTask) :: task
    character(len=*), intent(in) :: task_name
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, task_name, number_dependencies, .false., .false., eA_rank, eA_id, &
        eB_rank, eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, &
        eG_rank, eG_id, eH_rank, eH_id)
  end subroutine

  subroutine edatSubmitPersistentTask(task, number_dependencies, eA_rank, eA_id, eB_rank, &
      eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
      eH_rank, eH_id)
    procedure(edatTask) :: task
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, "", number_dependencies, .true., .false., eA_rank, eA_id, eB_rank, eB_id, &
        eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
        eH_rank, eH_id)
  end subroutine

  subroutine edatSubmitPersistentNamedTask(task, task_name, number_dependencies, eA_rank, &
      eA_id, eB_rank, eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, &
      eG_rank, eG_id, eH_rank, eH_id)
    procedure(edatTask) :: task
    character(len=*), intent(in) :: task_name
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, task_name, number_dependencies, .true., .false., eA_rank, eA_id, eB_rank, &
        eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
        eH_rank, eH_id)
  end subroutine

  subroutine edatSubmitPersistentGreedyTask(task, number_dependencies, eA_rank, eA_id, eB_rank, &
      eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
      eH_rank, eH_id)
    procedure(edatTask) :: task
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, "", number_dependencies, .true., .true., eA_rank, eA_id, eB_rank, eB_id, &
        eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
        eH_rank, eH_id)
  end subroutine

  subroutine edatSubmitPersistentNamedGreedyTask(task, task_name, number_dependencies, eA_rank, &
      eA_id, eB_rank, eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, &
      eG_rank, eG_id, eH_rank, eH_id)
    procedure(edatTask) :: task
    character(len=*), intent(in) :: task_name
    integer, intent(in) :: number_dependencies
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    call submit(task, task_name, number_dependencies, .true., .true., eA_rank, eA_id, eB_rank, &
        eB_id, eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, &
        eH_rank, eH_id)
  end subroutine

  subroutine submit(task, name, count, persistent, greedy, eA_rank, eA_id, eB_rank, eB_id, &
      eC_rank, eC_id, eD_rank, eD_id, eE_rank, eE_id, eF_rank, eF_id, eG_rank, eG_id, eH_rank, &
      eH_id)
    procedure(edatTask) :: task
    character(len=*), intent(in) :: name
    integer, intent(in) :: count
    logical, intent(in) :: persistent, greedy
    integer, intent(in), optional :: eA_rank, eB_rank, eC_rank, eD_rank, eE_rank, eF_rank, &
        eG_rank, eH_rank
    character(len=*), intent(in), optional :: eA_id, eB_id, eC_id, eD_id, eE_id, eF_id, eG_id, &
        eH_id
    character(kind=c_char, len=:), allocatable, target :: called
    character(kind=c_char, len=ID_LEN + 1), target :: ids(8)
    integer(c_int), target :: ranks(8)
    type(c_ptr) :: starts(8), task_name
    integer :: given, index
    given = 0
    call take(eA_rank, eA_id)
    call take(eB_rank, eB_id)
    call take(eC_rank, eC_id)
    call take(eD_rank, eD_id)
    call take(eE_rank, eE_id)
    call take(eF_rank, eF_id)
    call take(eG_rank, eG_id)
    call take(eH_rank, eH_id)
    if (count < 0 .or. count > given) error stop "edat: a task has fewer dependencies than it says"
    do index = 1, given
      starts(index) = c_loc(ids(index))
    end do
    task_name = c_null_ptr
    called = word(name)
    if (len(called) > 1) task_name = c_loc(called)
    call submit_c(c_funloc(task), task_name, count, c_loc(ranks), starts, &
        logical(persistent, c_bool), logical(greedy, c_bool))
  contains
    subroutine take(rank, id)
      integer, intent(in), optional :: rank
      character(len=*), intent(in), optional :: id
      if (.not. (present(rank) .and. present(id))) return
      if (len_trim(adjustl(id)) > ID_LEN) error stop "edat: an identifier is too long"
      given = given + 1
      ranks(given) = rank
      ids(given) = word(id)
    end subroutine
  end subroutine
end module
