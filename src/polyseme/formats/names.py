"""The parameter names of every format, as tables: the file's name, ours, and the steps from one to the other.

FORMAT               token encoder          recurrent layers
bilm-tf HDF5         TF_CHARACTERS          W_0 = [input; state], gates i g f o, bias without the forget constant
TensorFlow           the same               the same values under other names
AllenNLP             torch's orientation    gates i f g o, bias with the forget constant, highway gates negated
ELMoForManyLangs     as AllenNLP, no row 0  as AllenNLP
"""

from __future__ import annotations

from polyseme.formats.renaming import (
    ForgetBias,
    Gates,
    Layout,
    LeadingAxis,
    NegateLowerHalf,
    Rename,
    ReverseAxes,
    Table,
    WithoutPaddingRow,
    WithPaddingRow,
)

CHARACTER_TABLE = "token_encoder.characters.embedding.weight"
WORD_TABLE = "token_encoder.words.weight"


def tf_cells(cell: str, ours: str, kernel: str, bias: str, projection: str) -> Table:
    """The arrays of an LSTM cell written by TensorFlow."""
    gates = Gates("igfo", axis=-1)
    return (
        Rename(f"{cell}/{kernel}", (f"{ours}.input_weight", f"{ours}.state_weight"), (gates,)),
        Rename(f"{cell}/{bias}", f"{ours}.bias", (gates,)),
        Rename(f"{cell}/{projection}", f"{ours}.projection"),
    )


def torch_cells(cell: str) -> Table:
    """The arrays of an LSTM cell written by AllenNLP or ELMoForManyLangs."""
    ours, turned = "directions.{d}.cells.{l}", (Gates("ifgo", axis=0), ReverseAxes())
    return (
        Rename(f"{cell}.input_linearity.weight", f"{ours}.input_weight", turned),
        Rename(f"{cell}.state_linearity.weight", f"{ours}.state_weight", turned),
        Rename(f"{cell}.state_linearity.bias", f"{ours}.bias", (Gates("ifgo", axis=0), ForgetBias())),
        Rename(f"{cell}.state_projection.weight", f"{ours}.projection", (ReverseAxes(),)),
    )


TF_CHARACTERS: Table = (
    Rename("char_embed", CHARACTER_TABLE, (WithoutPaddingRow(),)),
    Rename("embedding", WORD_TABLE, (WithoutPaddingRow(),)),
    Rename("CNN/W_cnn_{i}", "token_encoder.characters.convolutions.{i}.weight", (LeadingAxis(), ReverseAxes())),
    Rename("CNN/b_cnn_{i}", "token_encoder.characters.convolutions.{i}.bias"),
    Rename("CNN_high_{k}/W_transform", "token_encoder.characters.highways.{k}.transform.weight", (ReverseAxes(),)),
    Rename("CNN_high_{k}/b_transform", "token_encoder.characters.highways.{k}.transform.bias"),
    Rename("CNN_high_{k}/W_carry", "token_encoder.characters.highways.{k}.gate.weight", (ReverseAxes(),)),
    Rename("CNN_high_{k}/b_carry", "token_encoder.characters.highways.{k}.gate.bias"),
    Rename("CNN_proj/W_proj", "token_encoder.projection.weight", (ReverseAxes(),)),
    Rename("CNN_proj/b_proj", "token_encoder.projection.bias"),
)

#: An inference graph has the padding row that the weight file lacks.
TF_CHARACTERS_WITH_PADDING: Table = (Rename("char_embed", CHARACTER_TABLE, (WithPaddingRow(),)), *TF_CHARACTERS[1:])

EACH, ONLY, FORWARD, FORWARD_ONLY = (
    "directions.{d}.cells.{l}",
    "directions.{d}.cells.0",
    "directions.0.cells.{l}",
    "directions.0.cells.0",
)
HDF5_NAMES, TF_NAMES = ("W_0", "B", "W_P_0"), ("kernel", "bias", "projection/kernel")

#: First the layout that we write, then bilm-tf's for one layer and for one direction, the same four in a checkpoint,
#: and that of a TF-Hub module.
TF_CELLS: tuple[tuple[Table, int], ...] = (
    (tf_cells("RNN_{d}/RNN/MultiRNNCell/Cell{l}/LSTMCell", EACH, *HDF5_NAMES), 2),
    (tf_cells("RNN_{d}/RNN/LSTMCell", ONLY, *HDF5_NAMES), 2),
    (tf_cells("rnn/MultiRNNCell/Cell{l}/LSTMCell", FORWARD, *TF_NAMES), 1),
    (tf_cells("rnn/LSTMCell", FORWARD_ONLY, *TF_NAMES), 1),
    (tf_cells("RNN_{d}/rnn/multi_rnn_cell/cell_{l}/lstm_cell", EACH, *TF_NAMES), 2),
    (tf_cells("RNN_{d}/rnn/lstm_cell", ONLY, *TF_NAMES), 2),
    (tf_cells("rnn/multi_rnn_cell/cell_{l}/lstm_cell", FORWARD, *TF_NAMES), 1),
    (tf_cells("rnn/lstm_cell", FORWARD_ONLY, *TF_NAMES), 1),
    (tf_cells("RNN_{d}/RNN/MultiRNNCell/Cell{l}/rnn/lstm_cell", EACH, *TF_NAMES), 2),
)
BILM_TF: tuple[Layout, ...] = tuple(Layout(TF_CHARACTERS + cells, count) for cells, count in TF_CELLS)
BILM_TF_WITH_PADDING: tuple[Layout, ...] = tuple(
    Layout(TF_CHARACTERS_WITH_PADDING + cells, count) for cells, count in TF_CELLS
)
BILM_TF_FORWARD = BILM_TF[2]  #: what we write for a model of one direction


def torch_characters(highways: str, convolution: str, projection: str) -> Table:
    """The convolutions, highways and projection of AllenNLP and ELMoForManyLangs."""
    ours = "token_encoder.characters.highways.{k}"
    return (
        Rename(f"{convolution}.weight", "token_encoder.characters.convolutions.{i}.weight"),
        Rename(f"{convolution}.bias", "token_encoder.characters.convolutions.{i}.bias"),
        Rename(f"{highways}.weight", (f"{ours}.transform.weight", f"{ours}.gate.weight"), (NegateLowerHalf(),)),
        Rename(f"{highways}.bias", (f"{ours}.transform.bias", f"{ours}.gate.bias"), (NegateLowerHalf(),)),
        Rename(f"{projection}.weight", "token_encoder.projection.weight"),
        Rename(f"{projection}.bias", "token_encoder.projection.bias"),
    )


ALLENNLP: Table = (
    Rename("_token_embedder._char_embedding_weights", CHARACTER_TABLE, (WithPaddingRow(),)),
    *torch_characters(
        "_token_embedder._highways._layers.{k}", "_token_embedder.char_conv_{i}", "_token_embedder._projection"
    ),
    *torch_cells("_elmo_lstm.{direction}_layer_{l}"),
)

#: ``token_embedder.pkl`` and ``encoder.pkl`` together.
MANYLANGS: Table = (
    Rename("char_emb_layer.embedding.weight", CHARACTER_TABLE, (WithoutPaddingRow(),)),
    Rename("word_emb_layer.embedding.weight", WORD_TABLE, (WithoutPaddingRow(),)),
    *torch_characters("highways._layers.{k}", "convolutions.{i}", "projection"),
    *torch_cells("{direction}_layer_{l}"),
)
