# install(): headers, target and package files, for find_package(repel).
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
