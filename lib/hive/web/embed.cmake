# cmake -DOUTPUT=page.cc -DFOLDER=files -P embed.cmake: the page's files as one source file.
set(text "// Made by embed.cmake from the files beside it.\n#include \"lib/hive/web/page.h\"\n\nnamespace deadheat::hive::web {\nnamespace {\n\nconstexpr File kFiles[] = {\n")
foreach(entry "/|index.html|text/html; charset=utf-8" "/hive.js|hive.js|text/javascript; charset=utf-8"
              "/parts.js|parts.js|text/javascript; charset=utf-8" "/race.js|race.js|text/javascript; charset=utf-8"
              "/hive.css|hive.css|text/css; charset=utf-8")
  string(REGEX MATCH "^([^|]*)\\|([^|]*)\\|(.*)$" ignored "${entry}")
  set(path ${CMAKE_MATCH_1})
  set(file ${CMAKE_MATCH_2})
  set(type "${CMAKE_MATCH_3}")
  file(READ ${FOLDER}/${file} content)
  string(APPEND text "    {\"${path}\", \"${type}\", R\"deadheat(${content})deadheat\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nconst File* find(std::string_view path) {\n  for (const File& file : kFiles)\n    if (file.path == path) return &file;\n  return nullptr;\n}\n\n}  // namespace deadheat::hive::web\n")
file(WRITE ${OUTPUT} "${text}")
