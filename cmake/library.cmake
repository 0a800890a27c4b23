# skald::skald: all rooms but the command as one archive, with what a program needs to compile and link with it. A project that
# has skald in its own tree (add_subdirectory) and one that has it installed (find_package) use the same name.
set(library_objects)
foreach(room base ranks disk trace tensor formats text grammar huggingface chat kernels quantizer kv sampling model load engine figure plan proof explain lab server hub)
  list(APPEND library_objects $<TARGET_OBJECTS:skald_${room}>)
endforeach()
add_library(skald_library STATIC ${library_objects})
add_library(skald::skald ALIAS skald_library)
set_target_properties(skald_library PROPERTIES OUTPUT_NAME skald LINKER_LANGUAGE CXX)
target_compile_features(skald_library INTERFACE cxx_std_20)
target_include_directories(skald_library INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
# Not skald_flags: what we ask of the linker for our own programs is not for those of others.
set(library_needs fmt::fmt PkgConfig::PCRE2 PkgConfig::UTF8PROC OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
target_link_libraries(skald_library PRIVATE ${library_needs})
