// SPDX-License-Identifier: MIT
//
// The guest's own memcpy and its like, bound inside the library: those that a
// program has may be a sanitizer's, which would watch our tables as if they
// were the program's memory (ThreadSanitizer: data races, exit status 66).
#include "asm.h"

	.p2align 4
	HIDDEN(memcpy)
	.cfi_startproc
	LANDING
	mov x3, x0
	subs x2, x2, 16
	b.lo 2f
1:	ldp x4, x5, [x1], 16
	stp x4, x5, [x3], 16
	subs x2, x2, 16
	b.hs 1b
2:	adds x2, x2, 16
	b.eq 4f
3:	ldrb w4, [x1], 1
	strb w4, [x3], 1
	subs x2, x2, 1
	b.ne 3b
4:	ret
	.cfi_endproc
	END(memcpy)

	.p2align 4
	HIDDEN(memset)
	.cfi_startproc
	LANDING
	mov x3, x0
	and x1, x1, 0xff
	mov x4, 0x0101010101010101
	mul x1, x1, x4
	subs x2, x2, 16
	b.lo 2f
1:	stp x1, x1, [x3], 16
	subs x2, x2, 16
	b.hs 1b
2:	adds x2, x2, 16
	b.eq 4f
3:	strb w1, [x3], 1
	subs x2, x2, 1
	b.ne 3b
4:	ret
	.cfi_endproc
	END(memset)

	.p2align 4
	HIDDEN(memcmp)
	.cfi_startproc
	LANDING
	mov x3, x0
	mov w0, 0
1:	cbz x2, 2f
	ldrb w4, [x3], 1
	ldrb w5, [x1], 1
	sub x2, x2, 1
	subs w0, w4, w5
	b.eq 1b
2:	ret
	.cfi_endproc
	END(memcmp)

	.p2align 4
	HIDDEN(strncmp)
	.cfi_startproc
	LANDING
	mov x3, x0
	mov w0, 0
1:	cbz x2, 2f
	ldrb w4, [x3], 1
	ldrb w5, [x1], 1
	sub x2, x2, 1
	subs w0, w4, w5
	b.ne 2f
	cbnz w4, 1b
2:	ret
	.cfi_endproc
	END(strncmp)

	.p2align 4
	HIDDEN(strlen)
	.cfi_startproc
	LANDING
	mov x1, x0
1:	ldrb w2, [x1], 1
	cbnz w2, 1b
	sub x0, x1, x0
	sub x0, x0, 1
	ret
	.cfi_endproc
	END(strlen)
