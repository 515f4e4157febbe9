# What `cmake --install` puts where: headers, both libraries, the program, a pkg-config file, a CMake
# package and, under share/carom, the scenes, the plans, the schemas and the documents.
include(CMakePackageConfigHelpers)
set(CAROM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/carom)
set(CAROM_DATA_DIR ${CMAKE_INSTALL_DATADIR}/carom)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET carom_program)
  install(TARGETS carom_program DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# one export set for each library: who links the shared one needs none of what it was built from
foreach(kind shared static)
  install(TARGETS carom_${kind} EXPORT carom-${kind}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT carom-${kind} NAMESPACE carom:: DESTINATION ${CAROM_PACKAGE_DIR}
          FILE carom-${kind}.cmake)
endforeach()
configure_package_config_file(cmake/carom-config.cmake.in
                              ${PROJECT_BINARY_DIR}/carom-config.cmake
                              INSTALL_DESTINATION ${CAROM_PACKAGE_DIR}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/carom-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/carom-config.cmake
              ${PROJECT_BINARY_DIR}/carom-config-version.cmake
        DESTINATION ${CAROM_PACKAGE_DIR})

# the pkg-config file finds its prefix from its own place, so an installed tree may be moved
set(CAROM_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH CAROM_PC_TO_PREFIX /prefix/${CAROM_PC_DIR} /prefix)
string(REGEX REPLACE "/$" "" CAROM_PC_TO_PREFIX "${CAROM_PC_TO_PREFIX}")
configure_file(cmake/carom.pc.in ${PROJECT_BINARY_DIR}/carom.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/carom.pc DESTINATION ${CAROM_PC_DIR})

foreach(folder scenes plans docs)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CAROM_DATA_DIR})
  endif()
endforeach()
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CAROM_DATA_DIR})
