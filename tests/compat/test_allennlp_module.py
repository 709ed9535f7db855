"""What AllenNLP 0.9 asserts of its ELMo modules, asserted of ours with the same inputs; and its recorded numbers."""

from __future__ import annotations

import io
import json
import tarfile

import h5py
import numpy as np
import pytest
import torch

from helpers.golden import assert_same_as_golden, files, golden
from helpers.paths import FIXTURES, needs
from polyseme.compat.allennlp import (
    ConfigurationError,
    Elmo,
    ElmoTokenEmbedder,
    ScalarMix,
    _ElmoBiLm,
    batch_to_ids,
)

ALLENNLP = FIXTURES / "bilm-tf" / "allennlp"  # the files of AllenNLP's own tests
PAIR = str(ALLENNLP / "options.json"), str(ALLENNLP / "lm_weights.hdf5")
SENTENCES = [["The", "sentence", "."], ["ELMo", "helps", "disambiguate", "ELMo", "from", "Elmo", "."]]
CACHED = [["This", "is", "a", "sentence"], ["Here", "'s", "one"], ["Another", "one"]]

original_files = [pytest.mark.shared, needs(ALLENNLP)]


def words_of(sentences: list[list[str]]) -> tuple[list[str], torch.Tensor]:
    """AllenNLP's vocabulary of some sentences, and the numbers of their words, 0 as padding."""
    counts: dict[str, int] = {}
    for word in (word for sentence in sentences for word in sentence):
        counts[word] = counts.get(word, 0) + 1
    words = ["@@PADDING@@", "@@UNKNOWN@@", *sorted(counts, key=lambda word: (-counts[word], word))]
    ids = torch.zeros(len(sentences), max(map(len, sentences)), dtype=torch.long)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.tensor([words.index(word) for word in sentence])
    return words, ids


class TestBiLM:
    pytestmark = original_files

    def test_ten_batches_of_the_original_suite(self) -> None:
        sentences = json.loads((ALLENNLP / "sentences.json").read_text())
        bilm = _ElmoBiLm(*PAIR)
        for number in range(10):
            batch = [row[number].split() for row in sentences]
            output = bilm(batch_to_ids(batch))
            assert (output["mask"].sum(dim=1) - 2).tolist() == [len(sentence) for sentence in batch]
            for row, sentence in enumerate(batch):
                top = output["activations"][2][row, 1 : len(sentence) + 1].numpy()
                with h5py.File(ALLENNLP / f"lm_embeddings_{row}.hdf5") as file:
                    expected = np.concatenate(list(file[str(number)][...]), axis=-1)
                np.testing.assert_allclose(top, expected, atol=1e-6)

    def test_words_beyond_the_cache_are_no_error(self) -> None:
        inside, outside = [["here", "is"], ["a", "vocab"]], [["This", "is", "OOV"], ["so", "is", "this"]]
        words, ids = words_of(inside)
        bilm = _ElmoBiLm(*PAIR, vocab_to_cache=words)
        bilm(batch_to_ids(inside), ids)
        beyond = bilm(batch_to_ids(outside), words_of(outside)[1])
        assert beyond["mask"].shape == (2, 5)

    def test_cached_words_are_their_characters(self) -> None:
        words, ids = words_of(CACHED)
        plain = _ElmoBiLm(*PAIR)(batch_to_ids(CACHED))
        cached = _ElmoBiLm(*PAIR, vocab_to_cache=words)(None, ids)
        torch.testing.assert_close(cached["mask"], plain["mask"])
        for found, expected in zip(cached["activations"], plain["activations"], strict=True):
            torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)

    def test_the_state_has_its_shape_and_padding_is_zero(self) -> None:
        """The assertions on AllenNLP's ElmoLstm, on the model of its suite."""
        bilm = _ElmoBiLm(*PAIR)
        lengths = [5, 4, 2, 1]
        output = bilm(batch_to_ids([["x"] * length for length in lengths]))
        for layer in output["activations"]:
            for row, length in enumerate(lengths):
                assert (layer[row, length + 2 :] == 0).all()
        config = bilm._bilm.config
        h, c = bilm._elmo_lstm._states
        assert list(h.shape) == [2, 4, 2 * config.projection]
        assert list(c.shape) == [2, 4, 2 * config.cell]

    def test_states_stay_within_their_clips(self) -> None:
        bilm = _ElmoBiLm(*PAIR)
        config = bilm._bilm.config
        assert config.projection_clip is not None and config.cell_clip is not None
        output = bilm(batch_to_ids([["x"] * length for length in (5, 4, 2, 1)]))
        h, c = bilm._elmo_lstm._states
        assert h.abs().max() <= config.projection_clip
        assert c.abs().max() <= config.cell_clip
        skipped = config.projection_clip * len(output["activations"])  # a layer's output has its input added
        assert all(layer.abs().max() <= skipped for layer in output["activations"][1:])


class TestElmo:
    pytestmark = original_files

    def test_two_representations(self) -> None:
        output = Elmo(*PAIR, 2, dropout=0.0)(batch_to_ids(SENTENCES))
        assert len(output["elmo_representations"]) == 2
        assert list(output["elmo_representations"][0].shape) == [2, 7, 32]
        assert list(output["elmo_representations"][1].shape) == [2, 7, 32]
        assert list(output["mask"].shape) == [2, 7]

    def test_boundaries_are_kept(self) -> None:
        output = Elmo(*PAIR, 2, dropout=0.0, keep_sentence_boundaries=True)(batch_to_ids(SENTENCES))
        assert len(output["elmo_representations"]) == 2
        assert list(output["elmo_representations"][0].shape) == [2, 9, 32]
        assert list(output["elmo_representations"][1].shape) == [2, 9, 32]
        assert list(output["mask"].shape) == [2, 9]

    def test_four_dimensions_are_batches_side_by_side(self) -> None:
        groups = [
            SENTENCES,
            [["1", "2"], ["1", "2", "3", "4", "5", "6", "7"]],
            [["1", "2", "3", "4", "50", "60", "70"], ["The"]],
        ]
        ids = [batch_to_ids(group) for group in groups]
        elmo = Elmo(*PAIR, 2, dropout=0.0)
        together = elmo(torch.stack(ids, dim=1))["elmo_representations"][0]  # [2, 3, 7, 32]
        for number, one in enumerate(ids):
            elmo._elmo_lstm._elmo_lstm.reset_states()
            alone = elmo(one)["elmo_representations"][0]
            torch.testing.assert_close(together[:, number], alone, atol=1e-6, rtol=0)

    def test_a_module_is_passed_in(self) -> None:
        elmo = Elmo(None, None, 2, dropout=0.0, module=_ElmoBiLm(*PAIR))
        representations = elmo(batch_to_ids(SENTENCES))["elmo_representations"]
        assert len(representations) == 2
        assert [list(one.shape) for one in representations] == [[2, 7, 32], [2, 7, 32]]
        with pytest.raises(ConfigurationError):
            Elmo(*PAIR, 2, module=_ElmoBiLm(*PAIR))

    def test_four_dimensions_with_cached_words(self) -> None:
        words, numbers = words_of(CACHED)
        ids = batch_to_ids(CACHED)
        alone = Elmo(*PAIR, 1, vocab_to_cache=words).eval()(ids, numbers)["elmo_representations"][0]
        four = Elmo(*PAIR, 1, vocab_to_cache=words).eval()(
            torch.stack([ids] * 4, dim=1), torch.stack([numbers] * 4, dim=1)
        )["elmo_representations"][0]
        for expanded in four.unbind(1):
            torch.testing.assert_close(expanded, alone, atol=1e-6, rtol=0)

    @pytest.mark.parametrize("requires_grad", [True, False])
    def test_gradients_reach_the_bilm_only_if_wanted(self, requires_grad: bool) -> None:
        embedder = ElmoTokenEmbedder(*PAIR, requires_grad=requires_grad)
        ids = torch.from_numpy(np.random.default_rng(0).integers(0, 262, (3, 4, 50)))
        embedder(ids).sum().backward()
        gradients = [one.grad for name, one in embedder.named_parameters() if "_elmo_lstm" in name]
        assert gradients and all((gradient is not None) == requires_grad for gradient in gradients)

    def test_token_vectors_of_the_original_suite(self) -> None:
        words = (ALLENNLP / "vocab_test.txt").read_text().strip().split("\n")
        bilm = _ElmoBiLm(*PAIR)
        found = bilm(batch_to_ids([words]))["activations"][0][0, 1:-1, :16]
        with h5py.File(ALLENNLP / "elmo_token_embeddings.hdf5") as file:
            np.testing.assert_allclose(found.numpy(), file["embedding"][...], atol=1e-6)

    @pytest.mark.parametrize(("position", "token"), [(0, "<S>"), (2, "</S>")])
    def test_boundaries_that_are_added_are_those_that_are_spelled(self, position: int, token: str) -> None:
        vectors = _ElmoBiLm(*PAIR)(batch_to_ids([[token]]))["activations"][0][0]
        torch.testing.assert_close(vectors[position], vectors[1])

    def test_a_projection_stands_alone(self) -> None:
        embedder = ElmoTokenEmbedder(*PAIR, projection_dim=20)
        assert embedder.get_output_dim() == 20
        words = torch.zeros(2, 50, dtype=torch.long)
        words[0, :4], words[1, :4] = torch.tensor([6, 5, 4, 3]), torch.tensor([3, 2, 1, 0])
        assert embedder(words[None]).shape == (1, 2, 20)
        assert embedder(words[None, None, :1]).shape == (1, 1, 1, 20)

    def test_from_params(self) -> None:
        params = {"options_file": PAIR[0], "weight_file": PAIR[1], "num_output_representations": 2, "dropout": 0.0}
        assert Elmo.from_params(params).get_output_dim() == 32


class TestScalarMix:
    def mix(self, **settings: bool) -> ScalarMix:
        mix = ScalarMix(3, **settings)
        for number, parameter in enumerate(mix.scalar_parameters):
            parameter.data[0] = 0.1 * (number + 1)
        mix.gamma.data[0] = 0.5
        return mix

    SHARES = np.exp([0.1, 0.2, 0.3]) / np.exp([0.1, 0.2, 0.3]).sum()

    def test_the_weighted_sum(self) -> None:
        tensors = [torch.randn(3, 4, 5) for _ in range(3)]
        expected = 0.5 * sum(share * tensor.numpy() for share, tensor in zip(self.SHARES, tensors, strict=True))
        np.testing.assert_almost_equal(self.mix()(tensors).detach().numpy(), expected, decimal=6)

    def test_another_number_of_tensors_is_refused(self) -> None:
        with pytest.raises(ConfigurationError):
            ScalarMix(3)([torch.randn(3, 4, 5)] * 5)

    def test_another_number_of_parameters_is_refused(self) -> None:
        with pytest.raises(ConfigurationError):
            ScalarMix(3, initial_scalar_parameters=[0.0, 0.0])

    def test_given_parameters_are_not_trained(self) -> None:
        mix = ScalarMix(3, initial_scalar_parameters=[1.0, 2.0, 3.0], trainable=False)
        assert [parameter.requires_grad for parameter in mix.scalar_parameters] == [False] * 3
        assert [parameter.item() for parameter in mix.scalar_parameters] == [1.0, 2.0, 3.0]

    def test_the_layer_norm_counts_what_the_mask_has(self) -> None:
        tensors, mask = [torch.randn(3, 4, 5) for _ in range(3)], np.ones((3, 4), np.int32)
        mask[1, 2:] = 0
        expected = np.zeros((3, 4, 5))
        for share, tensor in zip(self.SHARES, tensors, strict=True):
            inside = tensor.numpy()[mask == 1]
            expected += 0.5 * share * (tensor.numpy() - inside.mean()) / (inside.std() + 1e-12)
        found = self.mix(do_layer_norm=True)(tensors, torch.from_numpy(mask)).detach().numpy()
        np.testing.assert_almost_equal(found, expected, decimal=6)


VARIANTS = {
    "default": {"num_output_representations": 1},
    "two": {"num_output_representations": 2},
    "layer_norm": {"num_output_representations": 1, "do_layer_norm": True},
    "keep_boundaries": {"num_output_representations": 1, "keep_sentence_boundaries": True},
    "keep_boundaries_layer_norm": {
        "num_output_representations": 1,
        "keep_sentence_boundaries": True,
        "do_layer_norm": True,
    },
    "scalar_mix_parameters": {"num_output_representations": 1},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", files(*(f"allennlp/{one}" for one in ("skip2_relu", "layers3_skip", "clip_binding"))))
def test_the_numbers_of_allennlp(name: str, variant: str) -> None:
    """Two calls of one module, as AllenNLP 0.9 computed them."""
    folder, sentences = golden(name), json.loads(golden("allennlp/sentences.json").read_text())
    expected = np.load(folder / "expected.npz")
    parameters = expected["elmo/mix_weights"].tolist()
    settings = {"scalar_mix_parameters": parameters} if variant == "scalar_mix_parameters" else {}
    pair = str(folder / "options.json"), str(folder / "weights.hdf5")
    elmo = Elmo(*pair, **VARIANTS[variant], **settings, dropout=0.5).eval()
    chosen = {"default": [], "scalar_mix_parameters": [], "two": [(parameters, 1.7), (parameters[::-1], 0.4)]}
    for mix, (weights, gamma) in zip(elmo._scalar_mixes, chosen.get(variant, [(parameters, 1.7)]), strict=False):
        mix.gamma.data[0] = gamma
        for parameter, weight in zip(mix.scalar_parameters, weights, strict=True):
            parameter.data[0] = weight
    tolerance = 2e-5 if "norm" in variant else 1e-5
    with torch.no_grad():
        for call in (0, 1):
            output = elmo(batch_to_ids(sentences[call]))
            prefix = f"elmo/{variant}/call{call}"
            np.testing.assert_array_equal(output["mask"].numpy(), expected[f"{prefix}/mask"])
            for number, found in enumerate(output["elmo_representations"]):
                assert_same_as_golden(found, expected[f"{prefix}/rep{number}"], "compat allennlp", tolerance)


@pytest.mark.parametrize("name", files(*(f"allennlp/{one}" for one in ("skip2_relu", "layers3_skip", "clip_binding"))))
def test_five_batches_and_their_states(name: str) -> None:
    folder, sentences = golden(name), json.loads(golden("allennlp/sentences.json").read_text())
    expected = np.load(folder / "expected.npz")
    bilm = _ElmoBiLm(str(folder / "options.json"), str(folder / "weights.hdf5"))
    for number, batch in enumerate(sentences):
        ids = batch_to_ids(batch)
        np.testing.assert_array_equal(ids.numpy(), expected[f"bilm/b{number}/ids"])
        layers = torch.stack(bilm(ids)["activations"], dim=1)  # [B, L+1, T, W]
        assert_same_as_golden(layers, expected[f"bilm/b{number}/activations"], "compat allennlp")
        for state, which in zip(bilm._elmo_lstm._states, ("state_h", "state_c"), strict=True):
            assert_same_as_golden(state, expected[f"bilm/b{number}/{which}"], "compat allennlp")


def test_a_state_can_be_dropped_or_not_be_kept() -> None:
    folder = golden("allennlp/skip2_relu")
    elmo = Elmo(str(folder / "options.json"), str(folder / "weights.hdf5"), 1, dropout=0.0)
    ids = batch_to_ids(SENTENCES)
    first, second = (elmo(ids)["elmo_representations"][0] for _ in range(2))
    assert not torch.allclose(first, second, atol=1e-4)
    elmo._elmo_lstm._elmo_lstm.reset_states(torch.tensor([True, False]))
    third = elmo(ids)["elmo_representations"][0]
    torch.testing.assert_close(third[0], first[0])
    assert not torch.allclose(third[1], first[1], atol=1e-4)
    elmo.reset_states()
    elmo._elmo_lstm._elmo_lstm.stateful = False
    for _ in range(2):
        torch.testing.assert_close(elmo(ids)["elmo_representations"][0], first)


def test_weights_that_allennlp_saved_are_loaded() -> None:
    """A program that keeps its whole model as a state dict has AllenNLP's names in it."""
    archives, pair = golden("allennlp/archives"), golden("allennlp/skip2_relu")
    with tarfile.open(archives / "direct_two_mixes.tar.gz") as archive:
        file = archive.extractfile("weights.th")
        assert file is not None
        saved = torch.load(io.BytesIO(file.read()), weights_only=True)
    ours = {name.removeprefix("_elmo."): x for name, x in saved.items() if name.startswith("_elmo.")}
    elmo = Elmo(str(pair / "options.json"), str(pair / "weights.hdf5"), 2, do_layer_norm=True, dropout=0.0).eval()
    elmo.load_state_dict(ours)
    expected = np.load(archives / "expected.npz")
    sentences = json.loads((archives / "sentences.json").read_text(encoding="utf-8"))
    with torch.no_grad():
        found = elmo(batch_to_ids(sentences))["elmo_representations"]
    for number, one in enumerate(found):
        assert_same_as_golden(one, expected[f"direct_two_mixes/rep{number}"], "compat state dict")
    again = Elmo(str(pair / "options.json"), str(pair / "weights.hdf5"), 2)
    again.load_state_dict(elmo.state_dict())  # and its own
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), elmo.parameters(), strict=True))
    del ours["_elmo_lstm._token_embedder._projection.bias"]
    with pytest.raises(RuntimeError, match="Missing key"):
        elmo.load_state_dict(ours)
