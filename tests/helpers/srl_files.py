"""The same kind of sentences in the two official formats of semantic roles."""

from __future__ import annotations

CONLL_2005 = """\
The	DT	(NP*	*	-	(A0*	(A0*
cat	NN	*)	*	-	*)	*)
gave	VBD	(VP*	*	give	(V*)	*
up	RP	*	*	-	(C-V*)	*
sleeping	VBG	*)	*	sleep	(A1*)	(V*)

#	NN	(X*)	*	-

Stop	VB	(S*)	*	stop	(V*)
"""
CONLL_2012 = """\
#begin document (bc/x); part 000
bc/x	0	0	He	PRP	(S*	-	-	-	A	*	(ARG0*)	*	(1)
bc/x	0	1	wants	VBZ	*	want	01	1	A	*	(V*)	*	-
bc/x	0	2	to	TO	*	-	-	-	A	*	(ARG1*	*	-
bc/x	0	3	go	VB	*)	go	02	1	A	*	*)	(V*)	-

bc/x	0	0	Yes	UH	*	-	-	-	B	*	-

#end document
"""
