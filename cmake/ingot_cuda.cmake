# Finds nvcc, and makes PTX and machine code of the kernels. Host code stays with the C++ compiler: nvcc sees .cu files only.
set(INGOT_CUDA_ARCHITECTURES 80 86 89 90)
set(INGOT_HAS_CUDA OFF)
if(NOT INGOT_WITH_CUDA STREQUAL "OFF" AND NOT INGOT_WITH_CUDA STREQUAL "FALSE")
  find_program(INGOT_NVCC nvcc PATHS /usr/local/cuda/bin /usr/lib/cuda/bin)
  if(INGOT_NVCC)
    get_filename_component(INGOT_CUDA_BIN ${INGOT_NVCC} REALPATH)
    get_filename_component(INGOT_CUDA_BIN ${INGOT_CUDA_BIN} DIRECTORY)
    find_path(INGOT_CUDA_INCLUDE cuda.h HINTS ${INGOT_CUDA_BIN}/../include ${INGOT_CUDA_BIN}/../targets/x86_64-linux/include)
    # Of CCCL, which PyPI has in a package of its own: cuda_fp16.h takes it.
    find_path(INGOT_CUDA_CCCL nv/target HINTS ${INGOT_CUDA_BIN}/../include ${INGOT_CUDA_BIN}/../include/cccl ${INGOT_CUDA_BIN}/../targets/x86_64-linux/include
      ${INGOT_CUDA_BIN}/../targets/x86_64-linux/include/cccl)
    find_program(INGOT_PTXAS ptxas HINTS ${INGOT_CUDA_BIN})
    find_program(INGOT_FATBINARY fatbinary HINTS ${INGOT_CUDA_BIN})
  endif()
  set(missing)
  foreach(what INGOT_NVCC INGOT_PTXAS INGOT_FATBINARY INGOT_CUDA_INCLUDE INGOT_CUDA_CCCL)
    if(NOT ${what})
      list(APPEND missing ${what})
    endif()
  endforeach()
  if(NOT missing)
    set(INGOT_HAS_CUDA ON)
  else()
    string(REPLACE ";" ", " missing "${missing}")
    foreach(pair "INGOT_NVCC=nvcc" "INGOT_PTXAS=ptxas" "INGOT_FATBINARY=fatbinary" "INGOT_CUDA_INCLUDE=cuda.h" "INGOT_CUDA_CCCL=nv/target (CCCL)")
      string(REGEX MATCH "^([^=]*)=(.*)$" pair "${pair}")
      string(REPLACE "${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" missing "${missing}")
    endforeach()
    if(INGOT_WITH_CUDA STREQUAL "AUTO" AND NOT INGOT_NVCC)
      message(STATUS "CUDA backend: off, nvcc is not found")
    elseif(INGOT_WITH_CUDA STREQUAL "AUTO")
      message(STATUS "CUDA backend: off, not found: ${missing}; see docs/gpu.md")
    else()
      message(FATAL_ERROR "INGOT_WITH_CUDA=${INGOT_WITH_CUDA}, but not found: ${missing}; see docs/gpu.md")
    endif()
  endif()
endif()

# ingot_cuda_kernels(TARGET files.cu…): images <folder>/<name>.<capability>, 0 for PTX, and all of them, compressed to about an eighth, in
# <name>.fatbin, which modules.cpp takes in. Spilled registers and local memory are errors: they would be slow in silence.
function(ingot_cuda_kernels target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/cuda)
  file(MAKE_DIRECTORY ${folder})
  set(images)
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(OUTPUT ${folder}/${name}.0
      COMMAND ${INGOT_NVCC} -std=c++20 -O3 -arch=compute_80 -ptx -fmad=false -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
        -MD -MF ${folder}/${name}.d -MT ${folder}/${name}.0 ${source} -o ${folder}/${name}.0
      DEPENDS ${source} DEPFILE ${folder}/${name}.d COMMENT "Compiling kernels ${name}" VERBATIM)
    set(files ${folder}/${name}.0)
    set(entries --image3=kind=ptx,sm=80,file=${folder}/${name}.0)
    foreach(architecture ${INGOT_CUDA_ARCHITECTURES})
      add_custom_command(OUTPUT ${folder}/${name}.${architecture}
        COMMAND ${INGOT_PTXAS} -arch=sm_${architecture} --warn-on-spills --warn-on-local-memory-usage -Werror ${folder}/${name}.0 -o ${folder}/${name}.${architecture}
        DEPENDS ${folder}/${name}.0 COMMENT "Assembling kernels ${name} for sm_${architecture}" VERBATIM)
      list(APPEND files ${folder}/${name}.${architecture})
      list(APPEND entries --image3=kind=elf,sm=${architecture},file=${folder}/${name}.${architecture})
    endforeach()
    add_custom_command(OUTPUT ${folder}/${name}.fatbin
      COMMAND ${INGOT_FATBINARY} --64 --compress-all --compress-mode=size --create=${folder}/${name}.fatbin ${entries}
      DEPENDS ${files} COMMENT "Packing kernels ${name}" VERBATIM)
    list(APPEND images ${folder}/${name}.fatbin)
  endforeach()
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/runtime/cuda/modules.cpp PROPERTIES
    OBJECT_DEPENDS "${images}" COMPILE_DEFINITIONS "INGOT_CUDA_IMAGES=\"${folder}\"")
  file(GLOB host CONFIGURE_DEPENDS runtime/cuda/*.cpp)
  target_sources(${target} PRIVATE ${host})
  target_include_directories(${target} SYSTEM PRIVATE ${INGOT_CUDA_INCLUDE})
  target_compile_definitions(${target} PRIVATE INGOT_HAS_CUDA)
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# ingot_clang_kernels(SOURCE files.cu…): the kernels by clang, as PTX that SOURCE, a copy of modules.cpp, takes in. ptxas has to take it too; spills
# are no error here, since nobody ships it.
function(ingot_clang_kernels into)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/clang_kernels)
  file(MAKE_DIRECTORY ${folder})
  get_filename_component(root ${INGOT_CUDA_BIN} DIRECTORY)
  set(images)
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(OUTPUT ${folder}/${name}.0
      COMMAND ${INGOT_CUDA_CLANG} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-path=${root} -std=c++20 -O3 -ffp-contract=off
        -Wno-unknown-cuda-version -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include -MD -MF ${folder}/${name}.d -MT ${folder}/${name}.0
        -S ${source} -o ${folder}/${name}.0
      COMMAND ${INGOT_PTXAS} -arch=sm_80 ${folder}/${name}.0 -o ${folder}/${name}.80
      DEPENDS ${source} DEPFILE ${folder}/${name}.d COMMENT "Compiling kernels ${name} by clang" VERBATIM)
    list(APPEND images ${folder}/${name}.0)
  endforeach()
  set_source_files_properties(${into} PROPERTIES OBJECT_DEPENDS "${images}" COMPILE_DEFINITIONS "INGOT_CLANG_IMAGES=\"${folder}\"")
endfunction()
