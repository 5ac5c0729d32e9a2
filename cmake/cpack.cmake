# Packages: `cpack -G DEB` or `cpack -G TGZ` in the build folder.
#
# In:  the install rules. Out: ctune_VERSION_ARCH.deb, ctune-VERSION-SYSTEM.tar.gz.
# Libraries that the package needs come from dpkg-shlibdeps; on a machine without it, from the list of Debian 12.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME ctune)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR ctune)
set(CPACK_PACKAGE_CONTACT "ctune developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Put #pragma tune above a plain C loop nest. ctune proves what
may be reordered, searches on this machine for the fastest tiling, loop
order, vectors, packing and threads, and keeps the winner in a lock file
that clang and GCC plugins apply in every later build.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "ctune developers <ctune@localhost>")
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libclang1-19, libllvm19, libisl23, libgmp10, libsqlite3-0, libcjson1, \
libpapi7.0, libxgboost0, libstdc++6, zlib1g")
endif()
set(recommended "")
foreach(name clang gcc)
    string(TOUPPER ${name} upper)
    string(REGEX MATCH "^[0-9]+" major "${CTUNE_${upper}_VERSIONS}")
    if(major)
        list(APPEND recommended ${name}-${major})
    endif()
endforeach()
list(JOIN recommended " | " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
cmake_path(GET CTUNE_LLVM_ROOT FILENAME llvm) # "llvm-19": the headers of the compiler that libclang parses with
string(REPLACE "llvm-" "libclang-common-" headers ${llvm})
string(PREPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS "${headers}-dev, ")
include(CPack)
