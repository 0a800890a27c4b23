# What makes a bug in memory handling harder to use, in every target of ours. tests/house/hardening_test.py reads it from the
# built command, and says there what each part is seen by.
#
# An option for those who search for the price of one of them; packagers' own flags come first and win where they are stronger.
option(SKALD_HARDENING "Stack protector, fortified libc calls, control-flow marks, read-only relocations" ON)
if(NOT SKALD_HARDENING)
  return()
endif()

# Position-independent executables are a question of the linker, too (CMP0083).
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

target_compile_options(skald_flags INTERFACE -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
# shstk: Linux has shadow stacks, and the linker marks a program only if all its objects are marked. Ours and the compiler's
# are, the C library's start files of Debian 12 are not, though they only call and return: the mark is true. There is no such
# word for indirect branches (ibt): _start has no landing mark, and Linux offers nothing to user programs yet.
target_link_options(skald_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code -Wl,-z,shstk)

# Under a sanitizer, which checks the same and more, these two would only hide what it sees.
if(NOT SKALD_SANITIZE)
  # Calls of libc with the size of their buffer, of the optimizer's making; a distribution's compiler may have set it already.
  target_compile_options(skald_flags INTERFACE
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>")
  # Indices, empty containers and null pointers are checked by the standard library.
  target_compile_definitions(skald_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
