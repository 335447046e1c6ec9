"""The embedded judge: measurable properties of a response, judged by sentences a person can edit.

`anatomy` reads a text once; `features` turns two responses into differences; `vocabulary` maps
preference sentences to weights on those differences and back; `distil` writes such sentences from
labelled pairs; `pairwise` judges by them. `memories` writes a user memory in the same
sentences, and `satisfaction` scores turns by it. Nothing here is an LLM, nothing is random, and
every pass is linear in the length of the text.
"""
