# cpack -G DEB: the Debian packages skald, libskald0 and libskald-dev. cpack -G TGZ: everything in one archive, to be unpacked anywhere.
set(CPACK_PACKAGE_NAME skald)
set(CPACK_PACKAGE_VENDOR skald)
set(CPACK_PACKAGE_CONTACT "The skald developers <skald@localhost>")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL skald libskald0 libskald-dev)
set(CPACK_STRIP_FILES ON)
# The unit names the command by the path at which it will be, not by that of the folder it is packed in.
set(CPACK_SET_DESTDIR ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
# What is built with the headers needs the library of the same version.
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_LIBSKALD-DEV_DEPENDS libskald0)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_SKALD_PACKAGE_NAME skald)
set(CPACK_DEBIAN_SKALD_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SKALD_PACKAGE_SHLIBDEPS ON)
# Loaded when a model is fetched.
set(CPACK_DEBIAN_SKALD_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")
set(CPACK_COMPONENT_SKALD_DESCRIPTION "runs language models on the CPU
 A command and a server for language models in GGUF files and Hugging Face
 folders, with OpenAI's API, continuous batching, and answers that are the same
 to the last bit whatever runs beside them. A small model is included.")
set(CPACK_DEBIAN_SKALD_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/debian/postinst;${PROJECT_SOURCE_DIR}/packaging/debian/prerm;${PROJECT_SOURCE_DIR}/packaging/debian/postrm")

set(CPACK_DEBIAN_LIBSKALD0_PACKAGE_NAME libskald0)
set(CPACK_DEBIAN_LIBSKALD0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBSKALD0_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBSKALD0_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/libskald0/triggers")
set(CPACK_DEBIAN_LIBSKALD0_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")
set(CPACK_COMPONENT_LIBSKALD0_DESCRIPTION "runs language models on the CPU: shared library
 What a program that was built with libskald-dev needs to run.")

set(CPACK_DEBIAN_LIBSKALD-DEV_PACKAGE_NAME libskald-dev)
set(CPACK_DEBIAN_LIBSKALD-DEV_PACKAGE_SECTION libdevel)
# For programs that are linked with the archive (pkg-config --static).
set(CPACK_DEBIAN_LIBSKALD-DEV_PACKAGE_SUGGESTS "libfmt-dev, libpcre2-dev, libutf8proc-dev, libssl-dev")
set(CPACK_COMPONENT_LIBSKALD-DEV_DESCRIPTION "runs language models on the CPU: headers and library
 What a program needs to load and run language models as skald does, with CMake
 (find_package) or pkg-config.")
include(CPack)
