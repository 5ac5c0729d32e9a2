# Settings of this project that must not reach ctune, and ctune's must not reach this project.
add_compile_options(-Wall -Wextra -Werror -Wno-unknown-pragmas)
add_subdirectory(${CTUNE_ROOT} ctune EXCLUDE_FROM_ALL)
