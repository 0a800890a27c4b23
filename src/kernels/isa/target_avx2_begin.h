// Opens a region whose functions are compiled for avx2. Include it after every other header, inside
// no namespace, and close it with target_end.h: so no inline function of the standard library is
// compiled for an instruction set that the CPU at hand may lack (the linker would be free to choose
// that copy for everybody). No include guard: this is a bracket, not a declaration.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
