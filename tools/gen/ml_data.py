"""The small data sets of ml_models.py, each (training rows, their targets, new rows)."""

import numpy as np

TRAIN, NEW, FEATURES = 60, 12, 4
NAMES = np.array(["ant", "bee", "cicada"])


def features(seed: int = 0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((TRAIN + NEW, FEATURES)).astype(np.float32)
    hidden = x @ random.standard_normal(FEATURES) + 0.3 * np.sin(3 * x[:, 0]) + 0.2 * random.standard_normal(len(x))
    return x, hidden


def parts(x, y):
    return x[:TRAIN], y[:TRAIN], x[TRAIN:]


def regression():
    x, hidden = features()
    return parts(x, hidden)


def binary():
    x, hidden = features(1)
    return parts(x, (hidden > 0).astype(np.int64))


def three():
    x, hidden = features(2)
    return parts(x, np.digitize(hidden, np.quantile(hidden, [0.35, 0.7])).astype(np.int64))


def three_named():
    x, y, new = three()
    return x, NAMES[y], new


def multi_target(classes: bool = False):
    x, hidden = features(3)
    y = np.stack([hidden, x[:, 1] - hidden], 1)
    return parts(x, (y > 0).astype(np.int64) if classes else y)


def counts(classes: bool = False, integers: bool = False, known: bool = False):
    """Small natural numbers. known: the new rows hold nothing that the training rows do not."""
    random = np.random.default_rng(4)
    x = random.integers(0, 9, (TRAIN + NEW, FEATURES))
    if known:
        x[TRAIN:] = x[:NEW]
    y = (x[:, 0] + x[:, 1]) // 6 if classes else 1.0 + x[:, 0] + random.poisson(2, len(x))
    return parts(x.astype(np.int64 if integers else np.float32), y)


def missing(data):
    """Another set with a fifth of its features missing."""
    x, y, new = data()
    random = np.random.default_rng(5)
    for part in (x, new):
        part[random.random(part.shape) < 0.2] = np.nan
    return x, y, new


def strings(known: bool = False, gaps: bool = False):
    random = np.random.default_rng(6)
    x = np.stack(
        [random.choice(["red", "green", "blue", "größer"], TRAIN + NEW), random.choice(["s", "m", "l"], TRAIN + NEW)], 1
    )
    x = x.astype(object)
    if gaps:
        x[random.random(x.shape) < 0.2] = ""
    elif not known:
        x[TRAIN, 0] = "mauve"
    return parts(x, (x[:, 0] == "red").astype(np.int64))


def categorical():
    """Column 0 is a category 0 to 11 (12 and -1 among the new rows), column 1 one of 5."""
    x, _ = features(7)
    random = np.random.default_rng(7)
    x[:, 0] = random.integers(0, 12, len(x))
    x[:, 1] = random.integers(0, 5, len(x))
    effect = random.standard_normal(12)[x[:, 0].astype(int)] + np.array([0, 2, -1, 1, -2])[x[:, 1].astype(int)]
    y = effect + 0.1 * x[:, 2]
    return parts(x, y)


def ranking():
    x, hidden = features(8)
    return parts(x, np.digitize(hidden, np.quantile(hidden, [0.5, 0.8])).astype(np.int64))


def texts():
    words = "the a small big red green cat dog bird runs sleeps eats over under with without and or not".split()
    random = np.random.default_rng(9)
    lines = np.array([" ".join(random.choice(words, random.integers(3, 9))) for _ in range(TRAIN + NEW)], dtype=object)
    return parts(lines, np.array(["cat" in line for line in lines]).astype(np.int64))
