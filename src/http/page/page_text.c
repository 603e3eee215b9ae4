/* page_text.c - the built page becomes part of the program, so that there is no file to find or to
 * lose. */
#include "http/page/page_text.h"

/* DFT_PAGE: the folder with what web/build made. */
__asm__(".pushsection .rodata, \"a\", %progbits\n"
        ".globl page_html, page_html_end, page_policy\n"
        "page_html: .incbin \"" DFT_PAGE "/index.html\"\n"
        "page_html_end: .byte 0\n"
        "page_policy: .incbin \"" DFT_PAGE "/policy\"\n"
        ".byte 0\n"
        ".popsection\n");
