# Writes OUTPUT, a C file with the text of the scene files that the file SCENES lists, as byte
# arrays (string literals of that length are beyond what C17 promises).
file(READ ${SCENES} files)
list(TRANSFORM files REPLACE "\\.json$" "")
list(SORT files COMPARE NATURAL)
set(arrays "")
set(table "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER "scene_${name}" identifier)
  file(READ ${file}.json hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const unsigned char ${identifier}[] = {${bytes}0};\n")
  string(APPEND table "  {\"${name}\", (const char *)${identifier}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* generated from scenes/ */
#include \"system/builtin_scenes.h\"

${arrays}
const builtin_scene builtin_scenes[] = {
${table}  {0, 0},
};
")
