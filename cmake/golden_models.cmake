# The golden models of tests/golden, written anew when what writes them changes: about a second, 20 MB.
set(SKALD_GOLDEN_MODELS ${CMAKE_BINARY_DIR}/golden)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(golden_writers golden/make_models.py golden/networks.py golden/random_weights.py support/gguf_writer.py
  support/tiny_vocabulary.py)
list(TRANSFORM golden_writers PREPEND ${PROJECT_SOURCE_DIR}/tests/)
add_custom_command(OUTPUT ${SKALD_GOLDEN_MODELS}/written
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/golden/make_models.py ${SKALD_GOLDEN_MODELS}
  COMMAND ${CMAKE_COMMAND} -E touch ${SKALD_GOLDEN_MODELS}/written
  DEPENDS ${golden_writers} COMMENT "Writing the golden models" VERBATIM)
add_custom_target(golden_models ALL DEPENDS ${SKALD_GOLDEN_MODELS}/written)

# needs_golden_models(TARGET): the test program TARGET finds them in the folder SKALD_GOLDEN_MODELS.
function(needs_golden_models target)
  add_dependencies(${target} golden_models)
  target_compile_definitions(${target} PRIVATE SKALD_GOLDEN_MODELS="${SKALD_GOLDEN_MODELS}")
endfunction()
