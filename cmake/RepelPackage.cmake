# cpack: a Debian package (apt-get install ./librepel-dev_*.deb) and an archive of the installed tree.
#   cmake --workflow --preset package       both, and the single header, in build/package
set(CPACK_PACKAGE_NAME repel)
set(CPACK_PACKAGE_VENDOR "The repel authors")
set(CPACK_PACKAGE_CONTACT "The repel authors <maintainers@repel.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Headers, CMake package and pkg-config file of repel: particles that climb the gradient of a
log posterior and repel each other, in weight space and in function space; Bayesian neural networks; Hamiltonian Monte Carlo.
Nothing in it is compiled.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME repel-${PROJECT_VERSION})
set(CPACK_VERBATIM_VARIABLES ON)

# Debian's names: a library of headers is lib…-dev, the same for all architectures.
set(CPACK_DEBIAN_PACKAGE_NAME librepel-dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libeigen3-dev (>= 3.4)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libbenchmark-dev, libadolc-dev, libtorch-dev, zlib1g-dev")
if(REPEL_WITH_BLAS)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libblas-dev")
endif()
set(CPACK_GENERATOR TGZ)
find_program(REPEL_DPKG_DEB dpkg-deb)
mark_as_advanced(REPEL_DPKG_DEB)
if(REPEL_DPKG_DEB)
  list(APPEND CPACK_GENERATOR DEB)
endif()
include(CPack)

add_custom_target(single-header
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/repel.hpp -P ${PROJECT_SOURCE_DIR}/cmake/single_header.cmake VERBATIM)
