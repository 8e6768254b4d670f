# install(): headers, target and package files, for find_package(repel) and for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(repel_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/repel)

install(DIRECTORY include/repel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/repel)

install(TARGETS repel EXPORT repel-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT repel-targets NAMESPACE repel:: DESTINATION ${repel_package_dir})

configure_package_config_file(cmake/repel-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/repel-config.cmake
  INSTALL_DESTINATION ${repel_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/repel-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/repel-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/repel-config-version.cmake
  cmake/RepelAdapters.cmake
  DESTINATION ${repel_package_dir})

# pkg-config. The prefix is found from the file's own place, so that the installed tree can be moved.
set(repel_pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig) # nothing in it depends on the architecture
file(RELATIVE_PATH repel_pc_up /prefix/${repel_pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" repel_pc_up "${repel_pc_up}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(repel_pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(repel_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(repel_pc_libs ${CMAKE_THREAD_LIBS_INIT})
set(repel_pc_cflags "")
if(NOT repel_pc_libs)
  set(repel_pc_libs -pthread) # accepted everywhere, and needed with glibc before 2.34
endif()
if(REPEL_WITH_BLAS)
  string(APPEND repel_pc_cflags " -DEIGEN_USE_BLAS")
  list(JOIN BLAS_LIBRARIES " " repel_pc_blas)
  string(APPEND repel_pc_libs " ${repel_pc_blas}")
endif()
configure_file(cmake/repel.pc.in ${CMAKE_CURRENT_BINARY_DIR}/repel.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/repel.pc DESTINATION ${repel_pkgconfig_dir})
