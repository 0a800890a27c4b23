// Asked for help a fuzz target says what it can do. libFuzzer alone takes no notice of options with
// two dashes and begins to fuzz; its own name for it is -help=1.
#include <unistd.h>

#include <string_view>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i)
    if (const std::string_view option = (*argv)[i]; option == "--help" || option == "-h")
      return execl("/proc/self/exe", (*argv)[0], "-help=1", nullptr);
  return 0;
}
