"""BasisStateLM: what it promises of probabilities, streams, control and storage."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from skatoms import BasisStateLM

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "sat",
    "ran",
    "flew",
    "on",
    "under",
    "over",
    "mat",
    "tree",
    "roof",
    ".",
    "and",
    "then",
    ",",
    "slowly",
    "far",
]
ALL = ("state", "ngram", "cache", "contexts")


@cache
def lines(n=300, seed=0):
    """Sentences of a small grammar."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        noun, verb, place = rng.integers(3), rng.integers(3), rng.integers(3)
        parts = ["the", WORDS[2 + noun], WORDS[5 + verb], WORDS[8 + place], "the", WORDS[11 + noun]]
        if rng.random() < 0.3:
            parts += ["and", "then", WORDS[rng.integers(len(WORDS))]]
        found.append(" ".join([*parts, "."]))
    return found


@cache
def fitted(analyzer="word", members=None, readout="auto"):
    return BasisStateLM(
        analyzer, n_components=8, rank=8, members=members, readout=readout, random_state=0
    ).fit(lines())


CASES = [("word", None), ("char", None), ("word", ALL), ("char", ALL), ("word", ("state",))]


@pytest.mark.parametrize(("analyzer", "members"), CASES)
@settings(max_examples=20)
@given(context=st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_probabilities_sum_to_one(analyzer, members, context):
    p = fitted(analyzer, members).next_proba(context)
    assert abs(p.sum() - 1) < 1e-9
    assert p.min() >= 0


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize(("analyzer", "members"), CASES)
def test_score_is_the_mean_of_token_scores(analyzer, members, adapt):
    model = fitted(analyzer, members)
    scores = model.score_tokens(lines(40, 1), adapt=adapt)
    assert len(scores) == 40
    total = np.concatenate(scores)
    assert_allclose(model.score(lines(40, 1), adapt=adapt), total.mean(), rtol=1e-12)
    assert_allclose(model.perplexity(lines(40, 1), adapt=adapt), np.exp(-total.mean()), rtol=1e-9)


@pytest.mark.parametrize(("analyzer", "members"), CASES)
def test_token_scores_are_the_probabilities_of_what_follows(analyzer, members):
    model = fitted(analyzer, members)
    text = lines(1, 7)[0]
    tokens = list(text) if analyzer == "char" else text.split()
    scores = model.score_tokens([text])[0]
    for t, token in enumerate(tokens):
        p = model.next_proba([*tokens[:t]])
        assert_allclose(np.log(p[model.vocabulary_.get(token, 0)]), scores[t], atol=1e-4)


def test_samples_follow_the_probabilities():
    model = fitted()
    rng = np.random.RandomState(0)
    drawn = [model.sample(1, "the cat", random_state=rng)[0] for _ in range(3000)]
    counts = np.bincount(
        [model.vocabulary_[token] for token in drawn], minlength=len(model.vocabulary_)
    )
    p = model.next_proba("the cat")
    often = p * 3000 > 10
    observed = np.append(counts[often], counts[~often].sum())
    wanted = np.append(p[often], p[~often].sum()) * 3000
    some = wanted > 0
    assert chisquare(observed[some], wanted[some]).pvalue > 1e-3


def test_samples_are_narrowed():
    model = fitted()
    p = model.next_proba("the cat")
    # Several words may be equally likely but for rounding.
    best = {token for token, i in model.vocabulary_.items() if p[i] > (1 - 1e-3) * p.max()}
    assert model.predict(["the cat"])[0] in best
    for narrow in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-5}):
        assert set(model.sample(1, "the cat", random_state=3, **narrow)) <= best
    best = max(best)
    assert best not in model.sample(50, "the cat", banned=[best], random_state=0)
    assert "</s>" not in model.sample(50, "the cat .", banned=["</s>"], random_state=0)
    one, two = (model.sample(20, "the", random_state=5) for _ in range(2))
    assert one == two


def test_control_of_atoms():
    model = fitted(members=("state",))
    plain = model.next_proba("the cat")
    every = range(8)
    assert np.abs(model.next_proba("the cat", masked=every) - plain).max() > 1e-4
    # With nothing of the state left, the context is not seen.
    assert_allclose(
        model.next_proba("the cat", masked=every), model.next_proba("a roof", masked=every)
    )
    assert_allclose(
        model.next_proba("the cat", pinned=dict.fromkeys(every, 0.0)),
        model.next_proba("the cat", masked=every),
    )
    with pytest.raises(ValueError, match="An atom must be between 0 and 7"):
        model.next_proba("the cat", masked=[8])
    with pytest.raises(ValueError, match="not in the vocabulary"):
        model.next_proba("the cat", banned=["xyzzy"])


@pytest.mark.parametrize(("analyzer", "members"), CASES)
def test_explanations_add_up(analyzer, members):
    model = fitted(analyzer, members)
    reason = model.explain("the cat sat")
    assert_allclose(sum(reason.members.values()), reason.probability, rtol=1e-9)
    assert_allclose(reason.probability, model.next_proba("the cat sat").max(), rtol=1e-9)
    assert reason.logits.shape == (len(reason.blocks), 8)


def test_logits_of_atoms_explain_the_odds():
    model = fitted(members=("state",))
    empty = model.next_proba("the cat sat", masked=range(8))
    full = model.next_proba("the cat sat")
    gain = np.log(full / empty)
    reason = [model.explain("the cat sat", token).logits.sum() for token in ("on", "under")]
    on, under = model.vocabulary_["on"], model.vocabulary_["under"]
    assert_allclose(gain[on] - gain[under], reason[0] - reason[1], atol=1e-4)


@pytest.mark.parametrize(("analyzer", "members"), CASES)
def test_storage(tmp_path, analyzer, members):
    model = fitted(analyzer, members)
    model.save(tmp_path / "model.npz")
    loaded = BasisStateLM.load(tmp_path / "model.npz")
    wanted = model.score(lines(40, 1))
    # Weights of contexts are stored in half precision.
    tolerance = 1e-3 if "contexts" in model._reader.members else 1e-6
    assert_allclose(loaded.score(lines(40, 1)), wanted, rtol=tolerance)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert loaded.explain("the cat").token == model.explain("the cat").token
    assert pickle.loads(pickle.dumps(model)).score(lines(40, 1)) == wanted
    again = loaded.partial_fit(lines(40, 2))
    assert np.isfinite(again.score(lines(40, 1)))


def test_files_of_others_are_refused(tmp_path):
    (tmp_path / "other").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not a file of BasisStateLM"):
        BasisStateLM.load(tmp_path / "other")
    with pytest.raises(ValueError, match="use pickle"):
        BasisStateLM(str.split, n_components=2).fit(lines(20)).save(tmp_path / "model")


def test_streams_files_and_lists_are_the_same(tmp_path):
    text = lines(60)
    (tmp_path / "text").write_text("\n".join(text))
    forms = [text, "\n".join(text), (line for line in text), tmp_path / "text"]
    forms.append([line.split() for line in text])
    forms.append(np.array(text))
    scores = [
        BasisStateLM(n_components=4, random_state=0).fit(form).score(lines(20, 1)) for form in forms
    ]
    assert len(set(scores)) == 1


@pytest.mark.parametrize("members", [None, ALL])
def test_results_do_not_depend_on_threads(members):
    one, two = (
        BasisStateLM(n_components=8, members=members, random_state=0, n_jobs=n).fit(lines())
        for n in (1, 2)
    )
    assert one.score(lines(40, 1)) == two.score(lines(40, 1))
    assert_array_equal(one.transform(lines(5)), two.transform(lines(5)))


def test_partial_fit_learns_what_comes():
    first, later = lines(100), [line.replace("cat", "bird") for line in lines(300, 3)]
    model = BasisStateLM(n_components=8, random_state=0).partial_fit(first)
    before = model.score(later[200:])
    for start in range(0, 200, 50):
        model.partial_fit(later[start : start + 50])
    assert model.score(later[200:]) > before
    seen = sum(len(line.split()) + 1 for line in (*first, *later[:200]))
    assert model.n_tokens_seen_ == seen


def test_reading_with_learning_changes_nothing_and_helps_on_new_text():
    model = fitted("char")
    new = ["quick brown foxes jump over lazy dogs. "] * 20
    before = model.score(new)
    assert model.score(new, adapt=True) > before + 0.5
    assert model.score(new) == before


def test_states_in_a_pipeline():
    pets = [line for line in lines(200) if "cat" in line or "dog" in line]
    y = ["cat" in line for line in pets]
    model = BasisStateLM(n_components=8, members=("state",), random_state=0)
    pipe = make_pipeline(model, LogisticRegression(C=100, max_iter=1000)).fit(pets, y)
    assert pipe.score(pets, y) > 0.9
    names = pipe[0].get_feature_names_out()
    assert len(names) == pipe[0].transform(pets[:1]).shape[1]


def test_atoms_and_operator_can_be_looked_at():
    model = fitted()
    assert model.components_.shape == (8, len(model.vocabulary_))
    assert model.token_codes_.shape == (len(model.vocabulary_), 8)
    assert np.abs(model.eigenvalues_).max() < 1  # nothing is remembered for ever
    assert set(model.top_tokens(0)) <= set(model.vocabulary_)
    assert_allclose(sum(model.member_weights_.values()), 1)


def test_unseen_tokens_are_unknown():
    model = fitted()
    assert_allclose(model.next_proba("the xyzzy"), model.next_proba(["the", "plugh"]))


def test_a_document_of_one_token_and_long_contexts():
    model = BasisStateLM(n_components=2, min_count=1, random_state=0).fit(["one"])
    assert abs(model.next_proba("one " * 5000).sum() - 1) < 1e-9
    assert model.predict(["one"]).shape == (1,)


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        ([], ValueError, "corpus is empty"),
        (["", "  "], ValueError, "corpus is empty"),
        (b"bytes", TypeError, "decode"),
        ([b"bytes"], TypeError, "decode"),
        ([1, 2], ValueError, "must be a string or a sequence"),
        ([None], ValueError, "must be a string or a sequence"),
        (3, ValueError, "a text, a path or an iterable"),
        ([[1.5, 2.5]], ValueError, "A token must be"),
        (np.zeros((2, 2)), ValueError, "one dimension"),
    ],
)
def test_bad_documents(X, error, match):
    with pytest.raises(error, match=match):
        BasisStateLM().fit(X)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"min_df": 5000}, "No token is left"),
        ({"members": ("state", "magic")}, "name some of"),
        ({"time_scales": (0.5,)}, "time_scales must be"),
        ({"cache_scales": (np.nan,)}, "cache_scales must be"),
        ({"learning_rate": np.nan}, "learning_rate"),
    ],
)
def test_bad_parameters(changes, match):
    with pytest.raises(ValueError, match=match):
        BasisStateLM(**changes).fit(lines(20))


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "text").write_bytes(b"caf\xe9 au lait\n")
    with pytest.raises(UnicodeDecodeError):
        BasisStateLM().fit(tmp_path / "text")


def test_scores_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="analyzer='char'"):
        fitted().bits_per_char(lines(2))
    with pytest.raises(ValueError, match="nothing to score"):
        fitted().score([])


def test_scikit_learn_conventions():
    # Those that scikit-learn's own vectorisers meet, which take strings too.
    with pytest.warns(SkipTestWarning):
        check_estimator(CountVectorizer())
    with pytest.warns(SkipTestWarning):
        check_estimator(BasisStateLM())
    tags = get_tags(BasisStateLM()).input_tags
    assert tags.string
    assert not tags.two_d_array
    assert clone(BasisStateLM("char")).analyzer == "char"
