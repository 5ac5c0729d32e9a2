find_package(ctune 0.1 CONFIG REQUIRED)
