# find_package(Deadheat): Deadheat::runtime instruments what links to it and brings the runtime, for
# projects that keep their own compiler. (Simpler: the whole project with
# -DCMAKE_TOOLCHAIN_FILE=.../DeadheatToolchain.cmake, or CC=deadheat-cc CXX=deadheat-c++.)
get_filename_component(_deadheat_folder "${CMAKE_CURRENT_LIST_DIR}/../../deadheat" ABSOLUTE)
if(NOT EXISTS "${_deadheat_folder}/libdeadheat.so")
  set(Deadheat_FOUND FALSE)
  set(Deadheat_NOT_FOUND_MESSAGE "no libdeadheat.so in ${_deadheat_folder}")
elseif(NOT TARGET Deadheat::runtime)
  add_library(Deadheat::runtime INTERFACE IMPORTED)
  set_target_properties(Deadheat::runtime PROPERTIES
    INTERFACE_COMPILE_OPTIONS "-fsanitize=thread"
    INTERFACE_LINK_OPTIONS
      "-L${_deadheat_folder};LINKER:--push-state,--no-as-needed;-ldeadheat;LINKER:--pop-state;LINKER:-rpath,${_deadheat_folder}/detect;LINKER:--enable-new-dtags")
endif()
unset(_deadheat_folder)
