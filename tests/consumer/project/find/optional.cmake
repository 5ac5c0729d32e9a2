# Two lines before find_package: without ctune the project builds plainly.
function(ctune_enable)
endfunction()
find_package(ctune CONFIG QUIET)
