/* page_text.c - includes the built page in the program, so that no file has to be installed or
 * found. */
#include "http/page/page_text.h"

/* DFT_PAGE is the output folder of web/build. */
__asm__(".pushsection .rodata, \"a\", %progbits\n"
        ".globl page_html, page_html_end, page_policy\n"
        "page_html: .incbin \"" DFT_PAGE "/index.html\"\n"
        "page_html_end: .byte 0\n"
        "page_policy: .incbin \"" DFT_PAGE "/policy\"\n"
        ".byte 0\n"
        ".popsection\n");
