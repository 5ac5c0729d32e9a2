/*
 * GCC from the plugin's view: the headers, which of its symbols we use, what differs between
 * versions.
 *
 * Every symbol of the compiler is weak: then the dynamic linker loads the plugin into any compiler
 * of the collection (lto1 and f951 have no preprocessor; another version may spell a function
 * differently), and plugin_init can say in words why it does nothing, instead of the whole compile
 * failing with "undefined symbol". Nothing else of GCC may be used; tests/run/gcc-plugin.sh looks
 * at the symbol table.
 */
#ifndef CTUNE_PLUGIN_GCC_COMPAT_H
#define CTUNE_PLUGIN_GCC_COMPAT_H

/* before GCC's, which make macros of words like warn_unused_result */
#include "plugin/gcc/text.h"
#include "plugin/shim/job.h"
#include "plugin/shim/shim.h"

#include "gcc-plugin.h"

#include "c-family/c-common.h"
#include "cpplib.h"
#include "diagnostic-core.h"
#include "diagnostic.h"
#include "incpath.h"
#include "langhooks.h"
#include "opts.h"
#include "toplev.h"

#define CTUNE_WEAK __attribute__((weak))

/* ---- libcpp and the C front end ---- */
extern cpp_reader *parse_in CTUNE_WEAK;
extern const char **in_fnames CTUNE_WEAK;
extern unsigned num_in_fnames CTUNE_WEAK;
extern char flag_no_line_commands CTUNE_WEAK;
extern const char *pch_file CTUNE_WEAK;
extern class line_maps *line_table CTUNE_WEAK;
extern cpp_options *cpp_get_options(cpp_reader *) CTUNE_WEAK;
extern cpp_callbacks *cpp_get_callbacks(cpp_reader *) CTUNE_WEAK;
extern cpp_buffer *cpp_get_buffer(cpp_reader *) CTUNE_WEAK;
extern struct _cpp_file *cpp_get_file(cpp_buffer *) CTUNE_WEAK;
extern const char *cpp_get_path(struct _cpp_file *) CTUNE_WEAK;
extern int cpp_defined(cpp_reader *, const unsigned char *, int) CTUNE_WEAK;
extern void cpp_define(cpp_reader *, const char *) CTUNE_WEAK;
extern void cpp_register_pragma(cpp_reader *, const char *, const char *, void (*)(cpp_reader *),
                                bool) CTUNE_WEAK;
extern const line_map *linemap_add(class line_maps *, enum lc_reason, unsigned, const char *,
                                   linenum_type) CTUNE_WEAK;
extern location_t linemap_line_start(class line_maps *, linenum_type, unsigned) CTUNE_WEAK;
extern int linemap_location_in_system_header_p(class line_maps *, location_t) CTUNE_WEAK;
extern location_t linemap_position_for_column(class line_maps *, unsigned) CTUNE_WEAK;
extern void pp_dir_change(cpp_reader *, const char *) CTUNE_WEAK;
/* mkdeps.h is not among the installed headers */
extern class mkdeps *cpp_get_deps(cpp_reader *) CTUNE_WEAK;
extern void deps_add_dep(class mkdeps *, const char *) CTUNE_WEAK;
extern void deps_add_default_target(class mkdeps *, const char *) CTUNE_WEAK;

/* ---- the compiler ---- */
extern struct lang_hooks lang_hooks CTUNE_WEAK;
extern struct gcc_options global_options CTUNE_WEAK;
extern diagnostic_context *global_dc CTUNE_WEAK;
extern struct cl_decoded_option *save_decoded_options CTUNE_WEAK;
extern unsigned save_decoded_options_count CTUNE_WEAK;
extern const char *get_src_pwd(void) CTUNE_WEAK;
extern bool seen_error(void) CTUNE_WEAK;
extern expanded_location expand_location(location_t) CTUNE_WEAK;
extern bool warning_at(location_t, int, const char *, ...) CTUNE_WEAK;
extern void error_at(location_t, const char *, ...) CTUNE_WEAK;
extern void inform(location_t, const char *, ...) CTUNE_WEAK;
extern "C" {
extern void register_callback(const char *, int, plugin_callback_func, void *) CTUNE_WEAK;
}

/* ---- versions ---- */
/* Is the plugin built for the compiler that loads it? Structs are shared, so every digit counts. */
bool ctune_gcc_version_matches(const struct plugin_gcc_version *compiler);
/* "12.2.0": what the plugin is built for. */
const char *ctune_gcc_version_built(void);

/* -Werror in force? Set while our own warnings are sent. */
static inline bool &ctune_gcc_werror(void) {
    return global_dc->warning_as_error_requested;
}

#endif
