# A build for arm64 on another machine: Debian's cross compiler, libraries in a folder
# (scripts/arm64-sysroot.sh), and qemu for what has to run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CAROM_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot)
get_filename_component(CAROM_SYSROOT ${CAROM_SYSROOT} ABSOLUTE)
set(CMAKE_SYSROOT ${CAROM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${CAROM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CAROM_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CAROM_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CAROM_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CAROM_SYSROOT})
