# Drivers without devices, loaded by the tests that include work.h. Their common part is in the test program.
foreach(fake cuda nvrtc opencl)
    if(NOT TARGET fake_${fake})
        add_library(fake_${fake} MODULE ${CMAKE_CURRENT_LIST_DIR}/fake_${fake}.c)
    endif()
endforeach()
file(STRINGS ${source} fakes_user REGEX "^#include \"work.h\"")
if(fakes_user)
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/fake.c)
    set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
    add_dependencies(${name} fake_cuda fake_nvrtc fake_opencl)
    target_compile_definitions(${name} PRIVATE CTUNE_FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
                               CTUNE_FAKE_NVRTC="$<TARGET_FILE:fake_nvrtc>"
                               CTUNE_FAKE_OPENCL="$<TARGET_FILE:fake_opencl>")
endif()

if(name STREQUAL "test_opencl") # what PoCL holds at exit is no leak of ours; the fakes count objects
    set_tests_properties(unit.gpurun.test_opencl PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
    find_program(OCLGRIND oclgrind)
    find_library(OCLGRIND_LIBRARY oclgrind-rt PATHS /usr/lib/oclgrind)
    if(OCLGRIND AND OCLGRIND_LIBRARY AND NOT CTUNE_ASAN)
        add_test(NAME unit.gpurun.oclgrind
                 COMMAND ${CMAKE_CURRENT_LIST_DIR}/oclgrind.sh ${OCLGRIND_LIBRARY} $<TARGET_FILE:test_opencl>)
        set_tests_properties(unit.gpurun.oclgrind PROPERTIES TIMEOUT 120)
    endif()
endif()
