# Writes OUTPUT, a C file with the text of every scene in the folder SCENES as a byte array.
file(GLOB files ${SCENES}/*.json)
list(SORT files)
set(arrays "")
set(table "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  string(MAKE_C_IDENTIFIER ${name} identifier)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const char ${identifier}[] = {${bytes}0};\n")
  string(APPEND table "  {\"${name}\", ${identifier}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* generated from scenes/ */
#include \"system/builtin_scenes.h\"

${arrays}
const builtin_scene builtin_scenes[] = {
${table}  {0, 0},
};
")
