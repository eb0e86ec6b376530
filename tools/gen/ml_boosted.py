"""More models for ml_fixtures.py: texts, mixed columns, LightGBM, XGBoost and CatBoost."""

import catboost
import lightgbm
import numpy as np
import onnx
import onnxmltools
import xgboost
from ml_data import binary, categorical, counts, missing, ranking, regression, strings, texts, three, three_named
from ml_models import CASES, OPSET, Made, asked, case, column, dense
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloats
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes as classifier_shapes
from sklearn import compose, ensemble, feature_extraction, impute, linear_model, naive_bayes, pipeline
from sklearn import preprocessing

BOOSTED = {"": 15, "ai.onnx.ml": 3}


# Texts.
def learn_texts(model, *methods, options=None, zipmap=False):
    lines, y, new = texts()
    model.fit(lines, y)
    options = dict(options or {})
    if hasattr(model, "predict_proba"):
        options = {**options, id(model): {"zipmap": zipmap}}
    converted = to_onnx(
        model, initial_types=[("text", StringTensorType([None, 1]))], options=options, target_opset=OPSET
    )
    return Made(converted, [new[:, None]], [column(dense(v)) for v in asked(model, new, methods)])


text = feature_extraction.text
case("count_words", learn_texts, text.CountVectorizer())
spaces = {text.CountVectorizer: {"separators": [" "]}}
case("count_separators", learn_texts, text.CountVectorizer(), options=spaces)
case("count_pairs_binary", learn_texts, text.CountVectorizer(ngram_range=(1, 2), binary=True, max_features=40))
case("count_vocabulary", learn_texts, text.CountVectorizer(vocabulary=["cat", "dog", "red"], stop_words=["the"]))
case("tfidf_words", learn_texts, text.TfidfVectorizer())
case("tfidf_pairs_sublinear", learn_texts, text.TfidfVectorizer(ngram_range=(2, 2), sublinear_tf=True, max_features=40))
case("tfidf_characters", learn_texts, text.TfidfVectorizer(analyzer="char", ngram_range=(2, 3), max_features=60))
case("tfidf_l1", learn_texts, text.TfidfVectorizer(norm="l1", use_idf=False, token_pattern="[a-z]+"))
case(
    "tfidf_logistic",
    learn_texts,
    pipeline.make_pipeline(text.TfidfVectorizer(), linear_model.LogisticRegression()),
    zipmap=True,
)
case(
    "count_tfidf_bayes",
    learn_texts,
    pipeline.make_pipeline(text.CountVectorizer(), text.TfidfTransformer(), naive_bayes.MultinomialNB()),
)


# Mixed columns: numbers with gaps and texts.
def learn_mixed(last, zipmap=False, sparse=False):
    import pandas

    numbers, y, more = missing(binary)
    words, _, new_words = strings()
    frames = []
    for a, b in ((numbers, words), (more, new_words)):
        frames.append(pandas.DataFrame({"age": a[:, 0], "fare": a[:, 1], "color": b[:, 0], "size": b[:, 1]}))
    numeric = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
    names = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    model = pipeline.make_pipeline(
        compose.ColumnTransformer([("n", numeric, ["age", "fare"]), ("t", names, ["color", "size"])]), last
    )
    model.fit(frames[0], y)
    kinds = {"age": FloatTensorType, "fare": FloatTensorType, "color": StringTensorType, "size": StringTensorType}
    types = [(name, kind([None, 1])) for name, kind in kinds.items()]
    converted = to_onnx(model, initial_types=types, options={id(model): {"zipmap": zipmap}}, target_opset=OPSET)
    inputs = [frames[1][[name]].to_numpy() for name in kinds]
    return Made(converted, inputs, asked(model, frames[1], []))


case("mixed_logistic", learn_mixed, linear_model.LogisticRegression(), zipmap=True)
case("mixed_forest", learn_mixed, ensemble.RandomForestClassifier(5, max_depth=3, random_state=0))


# LightGBM, alone and in a pipeline.
def light(data, *, zipmap=False, categories="auto", split=None, **settings):
    x, y, new = data
    kind = lightgbm.LGBMClassifier if settings.pop("classes", False) else lightgbm.LGBMRegressor
    model = kind(n_estimators=6, num_leaves=6, min_child_samples=4, verbose=-1, random_state=0, **settings)
    model.fit(x, y, categorical_feature=categories)
    keywords = {"zipmap": zipmap} if kind is lightgbm.LGBMClassifier else {}
    types = [("x", ToolsFloats([None, x.shape[1]]))]
    converted = onnxmltools.convert_lightgbm(model, initial_types=types, target_opset=15, split=split, **keywords)
    return Made(converted, [new], [column(v) for v in asked(model, new, [])])


def light_ranker():
    x, y, new = ranking()
    data = lightgbm.Dataset(x, y, group=[10] * (len(x) // 10))
    model = lightgbm.train({"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 4, "verbose": -1}, data, 6)
    converted = onnxmltools.convert_lightgbm(
        model, initial_types=[("x", ToolsFloats([None, x.shape[1]]))], target_opset=15
    )
    return Made(converted, [new], [column(model.predict(new))])


case("lightgbm_two_zipmap", light, binary(), classes=True, zipmap=True)
case("lightgbm_three_names", light, three_named(), classes=True, zipmap=True)
case("lightgbm_missing", light, missing(binary), classes=True)
case("lightgbm_zero_as_missing", light, missing(regression), zero_as_missing=True)
case("lightgbm_regressor", light, regression())
case("lightgbm_split_sums", light, regression(), split=2)
case("lightgbm_categories", light, categorical(), categories=[0, 1], min_data_per_group=2, cat_smooth=1)
case("lightgbm_poisson", light, counts(), objective="poisson")
case("lightgbm_gamma", light, counts(), objective="gamma")
case("lightgbm_tweedie", light, counts(), objective="tweedie")
case("lightgbm_quantile", light, regression(), objective="quantile", alpha=0.8)
case("lightgbm_dart", light, regression(), boosting_type="dart")
case("lightgbm_ranker", light_ranker)


# XGBoost.
def boosted(data, *, kind=xgboost.XGBRegressor, **settings):
    x, y, new = data
    model = kind(n_estimators=6, max_depth=3, random_state=0, **settings)
    model.fit(x, y)
    converted = onnxmltools.convert_xgboost(
        model, initial_types=[("x", ToolsFloats([None, x.shape[1]]))], target_opset=15
    )
    return Made(converted, [new], [column(v) for v in asked(model, new, [])])


def boosted_ranker(objective):
    x, y, new = ranking()
    model = xgboost.XGBRanker(n_estimators=6, max_depth=3, objective=objective)
    model.fit(x, y, group=[10] * (len(x) // 10))
    same = xgboost.XGBRegressor()  # onnxmltools knows no ranker
    same.load_model(model.get_booster().save_raw())
    converted = onnxmltools.convert_xgboost(
        same, initial_types=[("x", ToolsFloats([None, x.shape[1]]))], target_opset=15
    )
    return Made(converted, [new], [column(model.predict(new))])


many = xgboost.XGBClassifier
case("xgboost_two", boosted, binary(), kind=many)
case("xgboost_three", boosted, three(), kind=many)
case("xgboost_missing", boosted, missing(binary), kind=many)
case("xgboost_regressor", boosted, regression())
case("xgboost_regressor_missing", boosted, missing(regression))
case("xgboost_poisson", boosted, counts(), objective="count:poisson")
case("xgboost_gamma", boosted, counts(), objective="reg:gamma")
case("xgboost_tweedie", boosted, counts(), objective="reg:tweedie")
case("xgboost_random_forest", boosted, regression(), kind=xgboost.XGBRFRegressor)
case("xgboost_ranker_pairs", boosted_ranker, "rank:pairwise")
case("xgboost_ranker_ndcg", boosted_ranker, "rank:ndcg")


# The converters of onnxmltools inside pipelines of scikit-learn.
def in_pipeline(model, name, convert, data, zipmap):
    update_registered_converter(
        type(model),
        name,
        classifier_shapes,
        convert,
        options={"nocl": [True, False], "zipmap": [True, False, "columns"]},
    )
    x, y, new = data
    whole = pipeline.make_pipeline(preprocessing.StandardScaler(), model)
    whole.fit(x, y)
    converted = to_onnx(whole, x[:1], options={id(whole): {"zipmap": zipmap}}, target_opset=BOOSTED)
    return Made(converted, [new], asked(whole, new, []))


case(
    "scaled_lightgbm",
    in_pipeline,
    lightgbm.LGBMClassifier(n_estimators=5, num_leaves=5, min_child_samples=4, verbose=-1),
    "LightGbmClassifier",
    convert_lightgbm,
    three_named(),
    True,
)
case(
    "scaled_xgboost",
    in_pipeline,
    xgboost.XGBClassifier(n_estimators=5, max_depth=2),
    "XGBoostClassifier",
    convert_xgboost,
    three(),
    False,
)


# CatBoost writes ONNX itself.
def cat(data, kind, *methods, **settings):
    import tempfile

    x, y, new = data
    model = kind(iterations=6, depth=3, verbose=False, random_seed=0, allow_writing_files=False, **settings)
    model.fit(x, y)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        model.save_model(file.name, format="onnx")
        made = onnx.load(file.name)
    expected = [v[:, 0] if v.ndim == 2 and v.dtype.kind in "iOU" else v for v in asked(model, new, methods)]
    return Made(made, [new], [column(v) for v in expected])


case("catboost_two", cat, binary(), catboost.CatBoostClassifier)
case("catboost_three_names", cat, three_named(), catboost.CatBoostClassifier)
case("catboost_regressor", cat, regression(), catboost.CatBoostRegressor)
