# The OpenMP runtime that this compiler's objects call (libgomp or libomp). Who links the static
# library needs that one, whatever compiler they use, so it is named outright:
#   CAROM_OPENMP_LIBRARIES   for CMake: names, or full paths outside the linker's own folders
#   CAROM_OPENMP_FLAGS       for pkg-config
set(CAROM_OPENMP_LIBRARIES "")
set(CAROM_OPENMP_FLAGS "")
foreach(name IN LISTS OpenMP_C_LIB_NAMES)
  get_filename_component(directory "${OpenMP_${name}_LIBRARY}" DIRECTORY)
  if(directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND CAROM_OPENMP_LIBRARIES ${name})
  else()
    list(APPEND CAROM_OPENMP_LIBRARIES ${OpenMP_${name}_LIBRARY})
    string(APPEND CAROM_OPENMP_FLAGS "-L${directory} ")
  endif()
  string(APPEND CAROM_OPENMP_FLAGS "-l${name} ")
endforeach()
