# ctune inside another project (add_subdirectory, FetchContent).
#
# In:  the parent's settings, inherited by this directory.
# Out: this directory without them. ctune is a program that runs while the parent is built and a plugin that the
#      parent's compiler loads: a product built with -fsanitize=address, -Werror or coverage must not hand these on, since a
#      compiler cannot load an instrumented plugin. Only this directory's scope changes.
if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "ctune runs on the machine that builds: for a cross build install it there and use "
                        "find_package(ctune) instead of add_subdirectory")
endif()

foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS LINK_OPTIONS INCLUDE_DIRECTORIES)
    set_property(DIRECTORY PROPERTY ${property} "")
endforeach()
foreach(variable CMAKE_C_FLAGS CMAKE_CXX_FLAGS CMAKE_EXE_LINKER_FLAGS CMAKE_SHARED_LINKER_FLAGS
                 CMAKE_MODULE_LINKER_FLAGS)
    string(REGEX REPLACE "(^| )(-fsanitize|-Werror|-W[a-z]|-fprofile|--?coverage|-ftest-coverage)[^ ]*" " " ${variable}
                         "${${variable}}")
endforeach()
foreach(variable CMAKE_UNITY_BUILD CMAKE_INTERPROCEDURAL_OPTIMIZATION CMAKE_COMPILE_WARNING_AS_ERROR
                 CMAKE_C_CLANG_TIDY CMAKE_CXX_CLANG_TIDY CMAKE_C_INCLUDE_WHAT_YOU_USE)
    set(${variable} "")
endforeach()
# Not the parent's products: beside each other, where ctune finds its runner and the plugins their library.
foreach(variable CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_LIBRARY_OUTPUT_DIRECTORY CMAKE_ARCHIVE_OUTPUT_DIRECTORY)
    unset(${variable})
endforeach()
set(CTUNE_BUILD_FLAGS -O2 CACHE STRING "How ctune itself is compiled, whatever the build type around it")
mark_as_advanced(CTUNE_BUILD_FLAGS)
add_compile_options(${CTUNE_BUILD_FLAGS})
