# cmake --install: the command with its model, manual, completions and documents, and the service (component skald); the
# library with its headers, for find_package(skald) and pkg-config (component libskald-dev). Everything finds the rest from
# where it lies, so the tree can be moved. Components are Debian packages (packages.cmake): skald, libskald0, libskald-dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The objects of the archive (library.cmake) as a shared library. What it shows stands in libskald.map; until version 1 a
# program must be built anew for each 0.x, which SOVERSION cannot say and CMake's package does.
add_library(skald_shared SHARED ${library_objects})
set_target_properties(skald_shared PROPERTIES OUTPUT_NAME skald LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libskald.map)
target_link_options(skald_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/libskald.map -Wl,--no-undefined)
target_link_libraries(skald_shared PRIVATE skald_flags ${library_needs})

# The manual comes from the one table of options, as the completions do.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/skald.1
  COMMAND skald completion man > ${CMAKE_BINARY_DIR}/skald.1 DEPENDS skald VERBATIM)
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/skald.1)

# From the folder of skald.pc up to the prefix; a library folder may have two levels.
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/skald.pc.in ${CMAKE_BINARY_DIR}/skald.pc @ONLY)
configure_package_config_file(cmake/skaldConfig.cmake.in ${CMAKE_BINARY_DIR}/skaldConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/skald PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/skaldConfigVersion.cmake COMPATIBILITY SameMinorVersion)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libskald-dev)
install(TARGETS skald_library ARCHIVE)
install(TARGETS skald_shared LIBRARY COMPONENT libskald0 NAMELINK_COMPONENT libskald-dev)
install(DIRECTORY include/skald DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libskald-dev)
install(FILES ${CMAKE_BINARY_DIR}/skald.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/skaldConfig.cmake ${CMAKE_BINARY_DIR}/skaldConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/skald)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME skald)
install(TARGETS skald RUNTIME)
install(FILES models/tales/tales.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/skald/models)
install(FILES ${CMAKE_BINARY_DIR}/skald.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/skald.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME skald)
install(FILES completions/_skald DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/skald.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md LICENSE CHANGELOG.md SECURITY.md docs/first-hour.md docs/cli.md docs/chat.md docs/grammar.md docs/plan.md docs/explain.md docs/receipts.md docs/server.md docs/numerics.md
  docs/performance.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The unit names the command by its path, which is known when it is installed.
install(CODE "
  file(READ \"${PROJECT_SOURCE_DIR}/packaging/skald.service\" unit)
  string(REPLACE /usr/bin/ \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" unit \"\${unit}\")
  string(REPLACE /usr/share/doc/skald \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\" unit \"\${unit}\")
  file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/skald.service\" \"\${unit}\")"
  COMPONENT skald)

include(cmake/packages.cmake)
