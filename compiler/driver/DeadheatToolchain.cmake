# cmake -DCMAKE_TOOLCHAIN_FILE=.../DeadheatToolchain.cmake: the project compiled through the wrapper.
get_filename_component(_deadheat_bin "${CMAKE_CURRENT_LIST_DIR}/../../../bin" ABSOLUTE)
set(CMAKE_C_COMPILER "${_deadheat_bin}/deadheat-cc")
set(CMAKE_CXX_COMPILER "${_deadheat_bin}/deadheat-c++")
unset(_deadheat_bin)
