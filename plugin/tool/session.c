/*
 * The program as a session sees it: options as plain values, and this program's folder, signals and
 * progress line.
 */
#include "plugin/tool/tool.h"

ctune_session ctune_session_make(const ctune_options *options) {
    return (ctune_session){.seed = options->seed,
                           .budget_s = options->budget_s,
                           .trials = options->trials,
                           .batch = options->batch,
                           .rounds = options->rounds,
                           .time_limit_s = options->time_limit_s,
                           .memory_bytes = options->memory_bytes,
                           .strategy = options->strategy,
                           .ablate = options->ablate,
                           .is_quiet = options->quiet,
                           .find_runner = ctune_runner_find,
                           .make_folder = ctune_workdir_create,
                           .folder = ctune_workdir_path,
                           .stopped = ctune_signal_get,
                           .show = ctune_progress_update,
                           .end_show = ctune_progress_clear};
}
