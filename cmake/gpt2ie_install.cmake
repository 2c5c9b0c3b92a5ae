# SPDX-License-Identifier: MIT
# Install rules: the headers, the exported target, and the files that make find_package(gpt2ie) work.
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(gpt2ie_config_folder "${CMAKE_INSTALL_DATADIR}/cmake/gpt2ie")

install(TARGETS gpt2ie EXPORT gpt2ieTargets FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT gpt2ieTargets NAMESPACE gpt2ie:: DESTINATION "${gpt2ie_config_folder}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/gpt2ieConfig.cmake.in" "${PROJECT_BINARY_DIR}/gpt2ieConfig.cmake"
                              INSTALL_DESTINATION "${gpt2ie_config_folder}")
# While the major version is 0 a new minor version may break; the headers are the same for every architecture.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gpt2ieConfigVersion.cmake" COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/gpt2ieConfig.cmake" "${PROJECT_BINARY_DIR}/gpt2ieConfigVersion.cmake"
        DESTINATION "${gpt2ie_config_folder}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
