"""A pipeline of scikit-learn learns from the vectors of texts."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from polyseme.sklearn import ElmoVectorizer

texts = ["A fine film.", "A dull film.", "What a joy!", "A waste of time."]
fitted = make_pipeline(ElmoVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0])
assert fitted.predict(texts).tolist() == [1, 0, 1, 0]
