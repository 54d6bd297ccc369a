# What every target of ours shares: warnings, sanitizers, include root; and the three ways to add a target.

find_package(Threads REQUIRED)
if(DEADHEAT_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

add_library(deadheat_flags INTERFACE)
target_include_directories(deadheat_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(deadheat_flags INTERFACE DEADHEAT_VERSION="${PROJECT_VERSION}")
target_compile_options(deadheat_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns about std::string's own inlined copies at -O3 (GCC bug 105651).
  target_compile_options(deadheat_flags INTERFACE -Wno-restrict)
endif()
if(DEADHEAT_WERROR)
  target_compile_options(deadheat_flags INTERFACE -Werror)
  if(CMAKE_UNITY_BUILD)
    # A local name may shadow one of another file that happens to share the unity file: an error only where files are compiled alone (`dev`, `debug`).
    target_compile_options(deadheat_flags INTERFACE -Wno-error=shadow)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC 12 guesses these after inlining, and how much it inlines depends on what shares a unity file: a new file elsewhere could break
    # the build with a warning about std::vector's insides. They are shown, and stop nothing; the sanitizers' builds look for the real thing.
    foreach(guess array-bounds dangling-pointer free-nonheap-object maybe-uninitialized mismatched-new-delete nonnull null-dereference
            stringop-overflow stringop-overread use-after-free)
      target_compile_options(deadheat_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=${guess}>)
    endforeach()
  endif()
endif()
if(DEADHEAT_SANITIZE)
  target_compile_definitions(deadheat_flags INTERFACE DEADHEAT_SANITIZED)  # tests that compare thousands of random cases take fewer
  target_compile_options(deadheat_flags INTERFACE -fsanitize=${DEADHEAT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(deadheat_flags INTERFACE -fsanitize=${DEADHEAT_SANITIZE})
endif()
if(DEADHEAT_FUZZ)
  # Coverage in the libraries, not only in the targets: without it the fuzzer is blind to what it tests.
  target_compile_options(deadheat_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(deadheat_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(deadheat_flags INTERFACE Threads::Threads)

# The headers that many files include, compiled once (DEADHEAT_PRECOMPILE): with clang at -O0 that and gtest's and
# json's templates are two thirds of the time. Only where a build is made once: `test` and `release` compile each file
# with what it names itself, so that a missing #include is seen.
if(DEADHEAT_PRECOMPILE)
  find_package(nlohmann_json 3.7 REQUIRED)
  if(NOT EXISTS ${PROJECT_BINARY_DIR}/headers.cc)
    file(WRITE ${PROJECT_BINARY_DIR}/headers.cc "")
  endif()
  add_library(deadheat_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cc)
  target_link_libraries(deadheat_headers PRIVATE deadheat_flags nlohmann_json::nlohmann_json)
  set(headers algorithm array atomic cerrno charconv chrono cstdint cstdio cstdlib cstring filesystem fstream functional
    map memory mutex optional set span sstream string string_view thread unordered_map utility variant vector
    nlohmann/json.hpp)
  if(DEADHEAT_TESTS)
    target_link_libraries(deadheat_headers PRIVATE GTest::gtest)
    list(APPEND headers gtest/gtest.h)
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
  target_precompile_headers(deadheat_headers PRIVATE ${headers})
endif()

# Not for a target with another -O than the preset's: clang refuses the headers.
function(deadheat_precompile target)
  if(DEADHEAT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM deadheat_headers)
  endif()
endfunction()

# HOT: run-time counts even where nothing else is optimised, in the sanitizers' presets (-O0).
function(deadheat_optimise target hot)
  if(hot AND DEADHEAT_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  else()
    deadheat_precompile(${target})
  endif()
endfunction()

# deadheat_library(NAME [HOT] SOURCES a.cc b.cc DEPENDS other...): a static library deadheat_NAME.
function(deadheat_library name)
  cmake_parse_arguments(ARG "HOT" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(deadheat_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(deadheat_${name} PUBLIC deadheat_flags ${ARG_DEPENDS})
  deadheat_optimise(deadheat_${name} ${ARG_HOT})
endfunction()

# deadheat_test(NAME [HOT] [THREADS] SOURCES a_test.cc DEPENDS deadheat_x): a GoogleTest executable, each of its tests a
# ctest. THREADS: what it tests starts threads; ThreadSanitizer's build has no others.
function(deadheat_test name)
  cmake_parse_arguments(ARG "HOT;THREADS" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT DEADHEAT_TESTS OR (DEADHEAT_SANITIZE STREQUAL thread AND NOT ARG_THREADS))
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE deadheat_flags ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE DEADHEAT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  deadheat_optimise(${name} ${ARG_HOT})
  if(NOT ARG_HOT AND NOT DEADHEAT_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)  # what is tested is optimised; the questions need not be
  endif()
  set(labels)
  if(ARG_THREADS)
    set(labels threads)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}")
endfunction()

# deadheat_fuzzer(NAME SOURCES x_fuzz.cc DEPENDS deadheat_x): a libFuzzer target, only with DEADHEAT_FUZZ.
function(deadheat_fuzzer name)
  if(NOT DEADHEAT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE deadheat_flags ${ARG_DEPENDS})
endfunction()
