# cmake -DGALLERY=folder -DEXAMPLES=a;b -DARGUMENTS=… -P gallery.cmake
# Writes index.html, which shows each example's pictures and its summary.csv as a table.
set(html "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>repel: gallery</title>\n<style>
body { font-family: sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
img { max-width: 100% } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd } td:first-child, th:first-child { text-align: left }
</style></head><body>\n<h1>repel: gallery</h1>\n")
foreach(example ${EXAMPLES})
  if(NOT EXISTS ${GALLERY}/${example}/summary.csv)
    continue() # its data are not here
  endif()
  string(STRIP "${example} ${ARGUMENTS}" command)
  string(APPEND html "<h2>${example}</h2>\n<p><code>${command}</code></p>\n")
  file(GLOB pictures RELATIVE ${GALLERY} ${GALLERY}/${example}/*.png)
  foreach(picture ${pictures})
    string(APPEND html "<p><a href=\"${picture}\"><img src=\"${picture}\" alt=\"${picture}\"></a></p>\n")
  endforeach()
  string(APPEND html "<table>\n")
  set(cell th)
  file(STRINGS ${GALLERY}/${example}/summary.csv rows)
  foreach(row ${rows})
    string(REPLACE "," "</${cell}><${cell}>" row "${row}")
    string(APPEND html "<tr><${cell}>${row}</${cell}></tr>\n")
    set(cell td)
  endforeach()
  string(APPEND html "</table>\n")
endforeach()
string(APPEND html "</body></html>\n")
file(WRITE ${GALLERY}/index.html "${html}")
message("gallery: ${GALLERY}/index.html")
