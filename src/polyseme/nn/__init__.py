"""The network in plain PyTorch: the reference that everything else is tested against.

Notation for shapes, here and in the whole project:

    B  sentences in a batch            D  projection size of one direction
    T  positions with boundaries       W  width of a layer, 2 D (D for a forward-only model)
    N  tokens without boundaries       H  LSTM cell size
    K  ids in the row of one token     L  LSTM layers; layers are numbered 0..L, 0 is the token layer
    C  characters in a token           V  words of the softmax
    F  convolution filters in all      R  rows: any number of tokens

Order in a layer: forward, then backward.
"""

from polyseme.extras import need_torch

need_torch("the network in PyTorch")
