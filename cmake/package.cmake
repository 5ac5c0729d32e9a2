# What ctune is from outside.
#
# In:  the targets of the top CMakeLists.txt (those that exist), CTUNE_LLVM_ROOT, CTUNE_INSTALL.
# Out: ctune::ctune, ctune::clang-plugin, ctune::gcc-plugin, ctune::plugin, ctune::runtime, ctune::gpu and the functions of
#      ctune-functions.cmake in this build; with CTUNE_INSTALL the same after installation, by find_package.
#
# The installed targets come from install(EXPORT), so they have one definition, here. Plugins, their common library and
# models are found relative to the program or plugin; nothing knows its prefix, so a tree may be moved.

include(${CMAKE_CURRENT_LIST_DIR}/ctune-functions.cmake)

# ---- what a plugin is for ----------------------------------------------------------------------------
# Properties of the plugins' targets, exported with them:
# CTUNE_COMPILER_VERSIONS  major versions, or as much of them as has to be the same; the best supported first
# CTUNE_ARGUMENT_PREFIX    what the words for the plugin begin with. GCC takes the plugin's name from the file, lib and all
get_property(clang_modules GLOBAL PROPERTY CTUNE_CLANG_MODULES)
set(CTUNE_CLANG_VERSIONS "")
set(CTUNE_GCC_VERSIONS "")
if(TARGET ctune-clang)
    get_target_property(CTUNE_CLANG_VERSIONS ctune-clang CTUNE_COMPILER_VERSION)
    foreach(module IN LISTS clang_modules)
        string(REPLACE "ctune-clang-" "" version ${module})
        list(APPEND CTUNE_CLANG_VERSIONS ${version})
    endforeach()
    list(REMOVE_DUPLICATES CTUNE_CLANG_VERSIONS)
    set_target_properties(ctune-clang PROPERTIES
        CTUNE_COMPILER_VERSIONS "${CTUNE_CLANG_VERSIONS}" CTUNE_ARGUMENT_PREFIX "-fplugin-arg-ctune-"
        EXPORT_PROPERTIES "CTUNE_COMPILER_VERSIONS;CTUNE_ARGUMENT_PREFIX")
endif()
if(TARGET ctune-gcc)
    get_target_property(CTUNE_GCC_VERSIONS ctune-gcc CTUNE_COMPILER_VERSION)
    _ctune_library_path(ctune-gcc path)
    cmake_path(GET path STEM LAST_ONLY gcc_plugin_name)
    set_target_properties(ctune-gcc PROPERTIES
        CTUNE_COMPILER_VERSIONS "${CTUNE_GCC_VERSIONS}" CTUNE_ARGUMENT_PREFIX "-fplugin-arg-${gcc_plugin_name}-"
        EXPORT_PROPERTIES "CTUNE_COMPILER_VERSIONS;CTUNE_ARGUMENT_PREFIX")
endif()

# CTUNE_HASH: of the sources and models that decide what code comes out. Compiler caches hash the file that -fplugin= names,
# but most of ctune is in the library beside it; so this is part of the key that ctune_enable gives to the plugin.
function(ctune_hash out)
    set(hashes "")
    foreach(folder plugin search costmodel/models)
        file(GLOB_RECURSE files ${PROJECT_SOURCE_DIR}/${folder}/*)
        foreach(file IN LISTS files)
            file(SHA256 ${file} hash)
            string(APPEND hashes ${hash})
        endforeach()
    endforeach()
    string(SHA256 hash "${hashes}")
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

# ---- targets -----------------------------------------------------------------------------------------
set(exported "")
macro(ctune_export target name)
    if(TARGET ${target})
        set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
        list(APPEND exported ${target})
    endif()
endmacro()
ctune_export(ctune ctune)
ctune_export(ctune-runner runner)
ctune_export(ctune-clang clang-plugin)
ctune_export(ctune-gcc gcc-plugin)
ctune_export(ctune-transform transform)
ctune_export(ctune-record-runtime record-runtime)
ctune_export(ctune-gpu gpu)

foreach(module IN LISTS clang_modules) # what ctune-clang loads, one for each version
    string(REPLACE "ctune-clang-" "clang-plugin-" name ${module})
    ctune_export(${module} ${name})
endforeach()

# ctune::plugin: the flag that loads the plugin into the C compiler in use. Other languages, compilers and versions get
# nothing. Single words: no SHELL: is needed, and paths with blanks work.
add_library(ctune-plugin INTERFACE)
function(ctune_plugin_flag target compiler versions)
    foreach(version IN LISTS versions)
        set(is_version "$<VERSION_GREATER_EQUAL:$<C_COMPILER_VERSION>,${version}>")
        string(APPEND is_version ",$<VERSION_LESS:$<C_COMPILER_VERSION>,${version}.99999>")
        target_compile_options(ctune-plugin INTERFACE
            "$<$<AND:$<COMPILE_LANG_AND_ID:C,${compiler}>,${is_version}>:-fplugin=$<TARGET_FILE:${target}>>")
    endforeach()
endfunction()
if(TARGET ctune-clang)
    ctune_plugin_flag(ctune::clang-plugin Clang "${CTUNE_CLANG_VERSIONS}")
endif()
if(TARGET ctune-gcc)
    ctune_plugin_flag(ctune::gcc-plugin GNU "${CTUNE_GCC_VERSIONS}")
endif()
# Compiling waits for a custom target; for a library it would not, only linking does.
foreach(pair ctune-clang/Clang ctune-gcc/GNU)
    cmake_path(GET pair PARENT_PATH plugin)
    cmake_path(GET pair FILENAME compiler)
    if(TARGET ${plugin})
        add_custom_target(${plugin}-ready)
        add_dependencies(${plugin}-ready ${plugin})
        if(TARGET ctune-transform)
            add_dependencies(${plugin}-ready ctune-transform)
        endif()
        if(CMAKE_C_COMPILER_ID STREQUAL compiler)
            add_dependencies(ctune-plugin ${plugin}-ready)
        endif()
    endif()
endforeach()
ctune_hash(hash)
set_target_properties(ctune-plugin PROPERTIES CTUNE_HASH ${hash} EXPORT_PROPERTIES CTUNE_HASH)
ctune_export(ctune-plugin plugin)

# ctune::runtime: what programs with recording (MODE record) link.
add_library(ctune-runtime INTERFACE)
if(TARGET ctune-record-runtime)
    target_link_libraries(ctune-runtime INTERFACE ctune-record-runtime)
endif()
ctune_export(ctune-runtime runtime)

# The same names as after find_package.
foreach(target ${exported})
    get_target_property(type ${target} TYPE)
    get_target_property(name ${target} EXPORT_NAME)
    if(type STREQUAL "EXECUTABLE")
        add_executable(ctune::${name} ALIAS ${target})
    else()
        add_library(ctune::${name} ALIAS ${target})
    endif()
endforeach()

# ---- install -----------------------------------------------------------------------------------------
# Where the program looks for what is installed with it.
function(ctune_relative_path source macro folder)
    file(RELATIVE_PATH path "/${CMAKE_INSTALL_BINDIR}" "/${folder}")
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/plugin/tool/${source} APPEND PROPERTY
                 COMPILE_DEFINITIONS "${macro}=\"${path}\"")
endfunction()
ctune_relative_path(workdir.c CTUNE_LIBEXEC ${CMAKE_INSTALL_LIBEXECDIR}/ctune)
ctune_relative_path(plugins.c CTUNE_PLUGINS ${CMAKE_INSTALL_LIBDIR}/ctune)
if(NOT CTUNE_INSTALL)
    return()
endif()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ctune)
set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/ctune)
foreach(target ${exported})
    if(target STREQUAL "ctune-runner")
        set(program_dir ${CMAKE_INSTALL_LIBEXECDIR}/ctune)
    else()
        set(program_dir ${CMAKE_INSTALL_BINDIR})
    endif()
    if(target MATCHES "^ctune-(record-runtime|gpu)$") # linked by name; the others are loaded by path
        set(library_dir ${CMAKE_INSTALL_LIBDIR})
    else()
        set(library_dir ${plugin_dir})
    endif()
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY") # libraries of a compiler in a folder of its own (/opt/llvm)
        set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    endif()
    install(TARGETS ${target} EXPORT ctune-targets
            RUNTIME DESTINATION ${program_dir}
            LIBRARY DESTINATION ${library_dir}
            ARCHIVE DESTINATION ${library_dir})
endforeach()
if(TARGET ctune-gpu)
    install(FILES ${PROJECT_SOURCE_DIR}/runtime/gpu/ctune_gpu.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(EXPORT ctune-targets NAMESPACE ctune:: DESTINATION ${config_dir})

include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ctune-config.cmake.in ctune-config.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ctune-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ctune-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ctune-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/ctune-functions.cmake
              ${CMAKE_CURRENT_LIST_DIR}/ctune-run.cmake
        DESTINATION ${config_dir})

file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(pc_clang_cflags "")
set(pc_gcc_cflags "")
set(pc_libs "")
if(TARGET ctune-clang)
    set(pc_clang_cflags "-fplugin=\${plugindir}/libctune-clang.so")
endif()
if(TARGET ctune-gcc)
    set(pc_gcc_cflags "-fplugin=\${plugindir}/${gcc_plugin_name}.so")
endif()
if(TARGET ctune-record-runtime)
    set(pc_libs "-L\${libdir} -lctune-record-runtime")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/ctune.pc.in ctune.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ctune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(GLOB man_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.1 ${PROJECT_SOURCE_DIR}/docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
        PATTERN man EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
if(EXISTS ${PROJECT_SOURCE_DIR}/costmodel/models)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/costmodel/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ctune/models)
endif()

# ---- packages ----------------------------------------------------------------------------------------
if(PROJECT_IS_TOP_LEVEL)
    include(${CMAKE_CURRENT_LIST_DIR}/cpack.cmake)
endif()
