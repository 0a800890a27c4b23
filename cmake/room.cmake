# Standard and GoogleTest headers, parsed once for all test programs: they are two thirds of what a test file costs to compile.
# No header of ours is among them, so nothing is built anew because of it; that each header of ours includes what it needs is
# checked without them (tests/headers).
set(SKALD_TEST_HEADERS <gtest/gtest.h> <algorithm> <array> <cstdint> <cstring> <functional> <memory> <optional> <random> <span>
  <string> <string_view> <utility> <vector>)
# What most sources begin with. Parsed once for each room under the sanitizers, which saves a third of their compilation; the
# build for users goes without, and so shows where a source does not include what it needs.
set(SKALD_ROOM_HEADERS <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <utility> <variant> <vector>)
# What tests do to compute expectations need not be fast, their compilation is half of a build: with the sanitizers a test
# file at -O1 takes four times as long as at -O0. Code under test keeps the optimization of its library.
if(SKALD_SANITIZE)
  set(SKALD_TEST_OPTIMIZATION -O0 -DSKALD_SANITIZED)  # by this name tests know that all is slow
else()
  # At this level gcc 12 takes the short form of a std::string for its only one: false alarms of its flow analysis.
  set(SKALD_TEST_OPTIMIZATION -O1 -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endif()

if(SKALD_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # gcc takes the sources of a unit, which are included, for headers, and warns of their private types in types that are not.
  target_compile_options(skald_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
# unite_sources(TARGET): with SKALD_UNITY, ten sources of TARGET that have no name of their own in common are one translation
# unit. What they include is then parsed, and what they instantiate from templates is instantiated, once for ten: a third of the
# time of a build under the sanitizers, and more with gcc. CMake leaves out sources with flags of their own, as the kernels of an
# instruction set. Ten: a room of some sixty sources still is work for several cores.
# Further arguments are sources that stay by themselves.
function(unite_sources target)
  if(NOT SKALD_UNITY)
    return()
  endif()
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(REMOVE_ITEM sources ${ARGN})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py 10 ${sources}
    WORKING_DIRECTORY ${directory} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# register_tests(TARGET): makes the GoogleTest program TARGET a part of ctest.
function(register_tests target)
  target_link_libraries(${target} PRIVATE GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE SKALD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE ${SKALD_TEST_OPTIMIZATION})
  if(target STREQUAL base_test)  # the first one: its headers serve all
    target_precompile_headers(${target} PRIVATE ${SKALD_TEST_HEADERS})
  else()
    target_precompile_headers(${target} REUSE_FROM base_test)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  unite_sources(${target})
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  register_shared_data(${target})
endfunction()

# room(NAME [NO_HOT_LOOPS] SOURCES ... [SEPARATE file...] [DEPS room...] [LIBS target...] [TESTS file...] [TEST_LIBS target...] [FUZZERS file...] [FUZZ_LIBS target...] [BENCHMARKS file...])
#
# Declares one room of src/: a static library skald_NAME that may use the rooms in DEPS (the include rule of
# ARCHITECTURE.md is also checked by tools/tidy), its unit tests as one program NAME_test, each fuzzer as a program of its
# own name (clang with -DSKALD_FUZZ=ON), and each benchmark. NO_HOT_LOOPS: no time is spent in this room, so none is spent on
# optimizing it under the sanitizers, where that doubles the time of its compilation. SEPARATE: sources that are by themselves in
# the archive, with SKALD_UNITY too. Some test programs bring an Engine and a Model of their own: what they take of the room must
# not stand in one unit with what needs those of the rooms.
function(room name)
  cmake_parse_arguments(ROOM "NO_HOT_LOOPS" "" "SOURCES;SEPARATE;DEPS;LIBS;TESTS;TEST_LIBS;FUZZERS;FUZZ_LIBS;BENCHMARKS" ${ARGN})
  set(target skald_${name})
  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PUBLIC skald_flags ${ROOM_LIBS})
  foreach(dep ${ROOM_DEPS})
    target_link_libraries(${target} PUBLIC skald_${dep})
  endforeach()
  if(ROOM_NO_HOT_LOOPS AND SKALD_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(SKALD_SANITIZE)
    target_precompile_headers(${target} PRIVATE ${SKALD_ROOM_HEADERS})
  endif()
  unite_sources(${target} ${ROOM_SEPARATE})
  if(ROOM_TESTS AND SKALD_TESTS)
    add_executable(${name}_test ${ROOM_TESTS})
    target_link_libraries(${name}_test PRIVATE ${target} ${ROOM_TEST_LIBS})
    register_tests(${name}_test)
  endif()
  if(SKALD_FUZZ AND ROOM_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # so that the fuzzer sees where its inputs get
    foreach(fuzzer ${ROOM_FUZZERS})
      get_filename_component(fuzzer_name ${fuzzer} NAME_WE)
      add_executable(${fuzzer_name} ${fuzzer})
      target_link_libraries(${fuzzer_name} PRIVATE ${target} fuzz_help ${ROOM_FUZZ_LIBS})
      target_link_options(${fuzzer_name} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzzers ${fuzzer_name})
    endforeach()
  endif()
  if(SKALD_BENCHMARKS)
    foreach(bench ${ROOM_BENCHMARKS})
      get_filename_component(bench_name ${bench} NAME_WE)
      add_executable(${bench_name} ${bench})
      target_link_libraries(${bench_name} PRIVATE ${target} benchmark::benchmark_main)
    endforeach()
  endif()
endfunction()
