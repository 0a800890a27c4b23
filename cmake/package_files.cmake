# Run by cpack before it packs: what Debian's policy wants of the files that cmake --install leaves as they are. The manual
# and the changelogs are compressed, without name and time: the same input gives the same bytes.
function(compress file)
  execute_process(COMMAND gzip -9 -n -f ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
foreach(package skald libskald0 libskald-dev)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${package}/usr/share)
  if(NOT CPACK_GENERATOR STREQUAL DEB)
    continue()
  endif()
  set(docs ${root}/doc/${package})
  file(REMOVE ${docs}/LICENSE ${docs}/CHANGELOG.md)
  file(COPY ${source}/packaging/debian/copyright DESTINATION ${docs}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  configure_file(${source}/CHANGELOG.md ${docs}/changelog COPYONLY)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${docs}/changelog.Debian
    "skald (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * What is new stands in changelog.gz.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  compress(${docs}/changelog)
  compress(${docs}/changelog.Debian)
  if(EXISTS ${root}/man/man1/skald.1)
    compress(${root}/man/man1/skald.1)
  endif()
endforeach()
