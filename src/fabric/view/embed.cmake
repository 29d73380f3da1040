# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=page.html -DOUT=file.cpp -P embed.cmake: the page as a raw string.
file(READ ${IN} content)
file(WRITE ${OUT} "// Generated from src/fabric/view/page.html by embed.cmake.\n#include \"fabric/view/page.h\"\nnamespace szarena::fabric::view {\nconst char* const kPage = R\"page(${content})page\";\n}\n")
