# Tests that need the folder ../shared beside the checkout: suites called *SharedData. Whether there is one is asked when ctest
# runs, not when CMake does; without it, or with SKALD_SHARED_DATA=none in the environment, they are disabled, which ctest and
# ./test.sh say. All other tests must do without: they can reach the folder in no other way than tests/support/shared_data.*, which
# then gives them a path that does not exist.
#
# Label beside: the tests of programs with such a suite. Only these can differ with and without the folder.
set(SKALD_SHARED_FOLDER ${PROJECT_SOURCE_DIR}/../shared)

# Included by ctest: `tests` are all tests of a program.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/needs_shared_data.cmake @ONLY CONTENT [==[
set(needing ${tests})
list(FILTER needing INCLUDE REGEX "SharedData")
if(needing)
  set_tests_properties(${tests} PROPERTIES LABELS "${labels};beside")
  if("$ENV{SKALD_SHARED_DATA}" STREQUAL "none" OR NOT EXISTS "@SKALD_SHARED_FOLDER@/golden")
    set_tests_properties(${needing} PROPERTIES DISABLED ON LABELS "${labels};beside;needs ../shared")
  endif()
endif()
]==])

# register_shared_data(TARGET): the same for what gtest_discover_tests finds in TARGET.
function(register_shared_data target)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_shared_data.cmake)
  file(WRITE ${script} "set(labels)\nset(tests \${${target}_TESTS})\ninclude(${PROJECT_BINARY_DIR}/needs_shared_data.cmake)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

# process_tests(SECONDS NAMES NAME... COMMAND COMMAND...): tests of one command, which gets the name as its last argument.
# They are added when ctest runs, so that the script above can see them.
function(process_tests timeout)
  cmake_parse_arguments(PARSE_ARGV 1 TESTS "" "" "NAMES;COMMAND")
  set(script "set(tests ${TESTS_NAMES})\nset(labels process)\n")
  foreach(name ${TESTS_NAMES})
    set(command)
    foreach(word ${TESTS_COMMAND} ${name})
      string(APPEND command " [==[${word}]==]")
    endforeach()
    string(APPEND script "add_test([==[${name}]==]${command})\n"
                         "set_tests_properties([==[${name}]==] PROPERTIES LABELS process COST 100 TIMEOUT ${timeout})\n")
  endforeach()
  list(GET TESTS_NAMES 0 first)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${first}_shared_data.cmake)
  file(GENERATE OUTPUT ${file} CONTENT "${script}include(${PROJECT_BINARY_DIR}/needs_shared_data.cmake)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# command_test(TIMEOUT NAME SCRIPT [ARGUMENT...]): a suite in Python of this folder, told the command and the sources. Label process.
function(command_test timeout name script)
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} $<TARGET_FILE:skald> ${PROJECT_SOURCE_DIR} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS process COST 100 TIMEOUT ${timeout})
endfunction()

# left_out(NAME WHAT): a test that this machine cannot run, because it has no WHAT. ctest and ./test.sh say so.
function(left_out name what)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E false)
  set_tests_properties(${name} PROPERTIES DISABLED ON LABELS "needs ${what}")
endfunction()
