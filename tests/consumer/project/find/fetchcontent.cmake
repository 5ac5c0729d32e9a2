include(FetchContent)
FetchContent_Declare(ctune SOURCE_DIR ${CTUNE_ROOT} OVERRIDE_FIND_PACKAGE)
FetchContent_MakeAvailable(ctune)
find_package(ctune REQUIRED)
