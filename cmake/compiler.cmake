# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, sanitizers: properties of two interface targets, never global flags
# except where every object must agree (sanitizers, coverage).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")

if(SZARENA_CCACHE)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()
find_program(MOLD mold)
if(MOLD AND NOT SZARENA_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()
if(SZARENA_SANITIZE)
  add_compile_options(-fsanitize=${SZARENA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SZARENA_SANITIZE})
  if(SZARENA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(SZARENA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(SZARENA_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

add_library(szarena_warnings INTERFACE)
target_compile_options(szarena_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<BOOL:${SZARENA_WERROR}>:-Werror>)

# Arithmetic that must give the same bits on every target: no contraction, no fast-math.
# Every codec, reference and simulator room links this.
add_library(szarena_strict_fp INTERFACE)
target_compile_options(szarena_strict_fp INTERFACE -ffp-contract=off -fno-fast-math)
