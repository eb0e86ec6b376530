"""The models of ml_fixtures.py: CASES maps a name to a function that trains, converts and asks the library."""

import dataclasses

import numpy as np
import onnx
from ml_data import binary, counts, missing, multi_target, regression, strings, three, three_named
from skl2onnx import to_onnx
from sklearn import (
    calibration,
    cluster,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

CASES = {}
OPSET = {"": 18, "ai.onnx.ml": 3}
kernels = gaussian_process.kernels

make_attribute = onnx.helper.make_attribute


def plain_attribute(name, value, *arguments, **keywords):
    """skl2onnx hands integers and booleans of numpy to onnx, which refuses them."""
    if isinstance(value, list):
        value = [int(v) if isinstance(v, (bool, np.bool_, np.integer)) else v for v in value]
    return make_attribute(name, value, *arguments, **keywords)


onnx.helper.make_attribute = plain_attribute


@dataclasses.dataclass
class Made:
    model: object
    inputs: list
    expected: list
    rtol: float = 1e-4
    atol: float = 1e-5


def case(name, make, *arguments, **keywords):
    CASES[name] = lambda: make(*arguments, **keywords)


def asked(model, x, methods):
    """What the model says, method by method; one that is no name is a function of (model, x)."""
    if not methods:
        if hasattr(model, "predict_proba"):
            methods = ["predict", "predict_proba"]
        elif hasattr(model, "predict") and hasattr(model, "decision_function"):
            methods = ["predict", "decision_function"]
        else:
            methods = ["predict"] if hasattr(model, "predict") else ["transform"]
    return [getattr(model, m)(x) if isinstance(m, str) else m(model, x) for m in methods]


def dense(value):
    return value.toarray() if hasattr(value, "toarray") else np.asarray(value)


def column(value):
    """Regressors of ONNX give a column for one target."""
    return value[:, None] if value.ndim == 1 and value.dtype.kind == "f" else value


def learn(model, data, *methods, zipmap=False, options=None, opset=OPSET, double=False, keep=False, **made):
    """A model of scikit-learn by skl2onnx. keep: outputs of rank 1 stay so."""
    x, y, new = data
    if double:
        x, new = x.astype(np.float64), new.astype(np.float64)
    model.fit(x, y)
    options = dict(options or {})
    if hasattr(model, "predict_proba") and zipmap is not None:
        options["zipmap"] = zipmap
    first = x[:1]
    converted = to_onnx(model, first, options={id(model): options} if options else None, target_opset=opset)
    expected = [dense(v) for v in asked(model, new, methods)]
    return Made(converted, [new], expected if keep else [column(v) for v in expected], **made)


def as_column(model, x):
    return model.predict(x)[:, None]


# Linear models.
lin = linear_model
case("linear_regression", learn, lin.LinearRegression(), regression())
case("ridge_two_targets", learn, lin.Ridge(), multi_target())
case("lasso", learn, lin.Lasso(alpha=0.1), regression())
case("elastic_net_double", learn, lin.ElasticNet(alpha=0.1), regression(), double=True, rtol=1e-9)
case("bayesian_ridge", learn, lin.BayesianRidge(), regression())
case("huber", learn, lin.HuberRegressor(), regression())
case("ransac", learn, lin.RANSACRegressor(random_state=0), regression())
case("quantile_regressor", learn, lin.QuantileRegressor(alpha=0.01), regression())
case("poisson_regressor", learn, lin.PoissonRegressor(), counts())
case("gamma_regressor", learn, lin.GammaRegressor(), counts(), keep=False)
case("tweedie_regressor", learn, lin.TweedieRegressor(power=1.5), counts())
case("logistic_zipmap", learn, lin.LogisticRegression(), binary(), zipmap=True)
case("logistic_three", learn, lin.LogisticRegression(), three())
case("logistic_names", learn, lin.LogisticRegression(), three_named(), zipmap=True)
case("logistic_double", learn, lin.LogisticRegression(), three(), double=True)
case(
    "logistic_raw",
    learn,
    lin.LogisticRegression(),
    three(),
    "predict",
    "decision_function",
    options={"raw_scores": True},
)
case("logistic_opset_9", learn, lin.LogisticRegression(), three_named(), zipmap=True, opset={"": 9, "ai.onnx.ml": 1})


def learn_columns(model, data, **keywords):
    made = learn(model, data, zipmap="columns", **keywords)
    labels, scores = made.expected
    made.expected = [labels, *scores.T]
    return made


case("logistic_columns", learn_columns, lin.LogisticRegression(), three_named())
case("ridge_classifier", learn, lin.RidgeClassifier(), three())
case(
    "sgd_hinge",
    learn,
    lin.SGDClassifier(random_state=0),
    three(),
    "predict",
    "decision_function",
    options={"raw_scores": True},
    zipmap=None,
)
case("sgd_log_loss", learn, lin.SGDClassifier(loss="log_loss", random_state=0), binary())
case("sgd_modified_huber", learn, lin.SGDClassifier(loss="modified_huber", random_state=0), three())
case(
    "perceptron",
    learn,
    lin.Perceptron(random_state=0),
    three(),
    "predict",
    "decision_function",
    options={"raw_scores": True},
    zipmap=None,
)
case("lda", learn, discriminant_analysis.LinearDiscriminantAnalysis(), three())

# Support vector machines.
case("svc_rbf", learn, svm.SVC(), three(), options={"raw_scores": True}, zipmap=None)
case(
    "svc_pairs_names",
    learn,
    svm.SVC(kernel="poly", degree=2, coef0=1, decision_function_shape="ovo"),
    three_named(),
    options={"raw_scores": True},
    zipmap=None,
)
case("svc_probability", learn, svm.SVC(probability=True, random_state=0), three(), rtol=2e-3, atol=1e-4)
case(
    "svc_probability_two",
    learn,
    svm.SVC(kernel="sigmoid", probability=True, random_state=0),
    binary(),
    zipmap=True,
    rtol=1e-3,
)
case(
    "svc_linear_two",
    learn,
    svm.SVC(kernel="linear"),
    binary(),
    "predict",
    lambda m, x: np.stack([-m.decision_function(x), m.decision_function(x)], 1),
    options={"raw_scores": True},
    zipmap=None,
)
case(
    "nu_svc_probability",
    learn,
    svm.NuSVC(probability=True, random_state=0),
    three_named(),
    zipmap=True,
    rtol=2e-3,
    atol=1e-4,
)
case("linear_svc", learn, svm.LinearSVC(), three(), options={"raw_scores": True}, zipmap=None)
case("svr_rbf", learn, svm.SVR(), regression())
case("svr_poly", learn, svm.SVR(kernel="poly"), regression())
case("nu_svr_sigmoid", learn, svm.NuSVR(kernel="sigmoid"), regression())
case("linear_svr", learn, svm.LinearSVR(random_state=0), regression())
case("one_class_svm", learn, svm.OneClassSVM(nu=0.2), regression(), as_column, "decision_function", atol=1e-4)

# Trees.
case("tree_classifier", learn, tree.DecisionTreeClassifier(max_depth=4, random_state=0), three())
case(
    "tree_path_leaf",
    learn,
    tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    three(),
    "predict",
    "predict_proba",
    lambda m, x: np.array(["".join(map(str, r)) for r in m.decision_path(x).toarray()])[:, None],
    lambda m, x: m.apply(x)[:, None],
    options={"decision_path": True, "decision_leaf": True},
)
case("tree_two_outputs", learn, tree.DecisionTreeRegressor(max_depth=4, random_state=0), multi_target())
case(
    "tree_opset_9",
    learn,
    tree.DecisionTreeClassifier(max_depth=4, random_state=0),
    three_named(),
    zipmap=True,
    opset={"": 9, "ai.onnx.ml": 1},
)
case("extra_tree", learn, tree.ExtraTreeRegressor(max_depth=4, random_state=0), regression())
case("forest_names", learn, ensemble.RandomForestClassifier(6, max_depth=4, random_state=0), three_named(), zipmap=True)
case("forest_two", learn, ensemble.RandomForestClassifier(6, max_depth=4, random_state=0), binary())
case("forest_regressor", learn, ensemble.RandomForestRegressor(6, max_depth=4, random_state=0), regression())
case("forest_double", learn, ensemble.RandomForestClassifier(6, max_depth=4, random_state=0), three(), double=True)
case(
    "forest_opset_21",
    learn,
    ensemble.RandomForestRegressor(6, max_depth=4, random_state=0),
    regression(),
    opset={"": 21, "ai.onnx.ml": 5},
)
case(
    "forest_classifier_opset_21",
    learn,
    ensemble.RandomForestClassifier(6, max_depth=4, random_state=0),
    three_named(),
    opset={"": 21, "ai.onnx.ml": 5},
)
case("forest_two_outputs", learn, ensemble.RandomForestRegressor(4, max_depth=3, random_state=0), multi_target())
case("extra_trees", learn, ensemble.ExtraTreesClassifier(6, max_depth=4, random_state=0), three())
case("gradient_boosting_two", learn, ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0), binary())
case(
    "gradient_boosting_three",
    learn,
    ensemble.GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    three_named(),
    zipmap=True,
)
case(
    "gradient_boosting_regressor",
    learn,
    ensemble.GradientBoostingRegressor(n_estimators=8, random_state=0),
    regression(),
)
case(
    "hist_gradient_missing",
    learn,
    ensemble.HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=4, random_state=0),
    missing(binary),
)
case(
    "hist_gradient_three",
    learn,
    ensemble.HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4, random_state=0),
    missing(three_named),
)
case(
    "hist_gradient_regressor",
    learn,
    ensemble.HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=4, random_state=0),
    missing(regression),
)
case("ada_boost", learn, ensemble.AdaBoostClassifier(n_estimators=5, random_state=0), three())
case("ada_boost_regressor", learn, ensemble.AdaBoostRegressor(n_estimators=5, random_state=0), regression())
case("bagging", learn, ensemble.BaggingClassifier(lin.LogisticRegression(), 4, random_state=0), three())
case(
    "bagging_regressor",
    learn,
    ensemble.BaggingRegressor(tree.DecisionTreeRegressor(max_depth=3), 4, random_state=0),
    regression(),
)

# Neighbours, naive Bayes, networks, Gaussian processes.
case("knn", learn, neighbors.KNeighborsClassifier(3), three())
case("knn_names", learn, neighbors.KNeighborsClassifier(4), three_named(), zipmap=True)
case("knn_regressor", learn, neighbors.KNeighborsRegressor(3), regression())
case("knn_manhattan_two_targets", learn, neighbors.KNeighborsRegressor(3, metric="manhattan"), multi_target())
case("knn_microsoft", learn, neighbors.KNeighborsRegressor(3), regression(), options={"optim": "cdist"})
case("radius_neighbors", learn, neighbors.RadiusNeighborsRegressor(10.0), regression())
case(
    "nearest_neighbors",
    learn,
    neighbors.NearestNeighbors(n_neighbors=3, radius=None),
    regression(),
    lambda m, x: m.kneighbors(x)[1],
    lambda m, x: m.kneighbors(x)[0],
)
case("knn_transformer", learn, neighbors.NeighborhoodComponentsAnalysis(2, random_state=0), three(), "transform")
case("gaussian_nb", learn, naive_bayes.GaussianNB(), three(), rtol=1e-3)
case("multinomial_nb", learn, naive_bayes.MultinomialNB(), counts(classes=True))
case("bernoulli_nb", learn, naive_bayes.BernoulliNB(), three_named(), zipmap=True)
case("complement_nb", learn, naive_bayes.ComplementNB(), counts(classes=True))
case("categorical_nb", learn, naive_bayes.CategoricalNB(min_categories=9), counts(classes=True, integers=True))
case("mlp", learn, neural_network.MLPClassifier((8, 6), max_iter=60, random_state=0), three())
case(
    "mlp_two_tanh",
    learn,
    neural_network.MLPClassifier((8,), activation="tanh", max_iter=60, random_state=0),
    binary(),
    zipmap=True,
)
case(
    "mlp_regressor",
    learn,
    neural_network.MLPRegressor(hidden_layer_sizes=(8,), activation="logistic", max_iter=60, random_state=0),
    regression(),
)
gp = gaussian_process
case(
    "gp_rbf_std",
    learn,
    gp.GaussianProcessRegressor(kernels.RBF() + kernels.WhiteKernel(), random_state=0),
    regression(),
    lambda m, x: m.predict(x)[:, None],
    lambda m, x: m.predict(x, return_std=True)[1],
    options={"return_std": True},
    double=True,
    keep=True,
)
case(
    "gp_rational",
    learn,
    gp.GaussianProcessRegressor(kernels.RationalQuadratic(2.0), alpha=0.1, optimizer=None),
    regression(),
    double=True,
)
case(
    "gp_sine_dot",
    learn,
    gp.GaussianProcessRegressor(kernels.ExpSineSquared(2.0, 3.0) + kernels.DotProduct(), alpha=5.0, optimizer=None),
    regression(),
    double=True,
)
case(
    "gp_scaled_rbf",
    learn,
    gp.GaussianProcessRegressor(kernels.ConstantKernel(2.0) * kernels.RBF(1.5), alpha=0.1, optimizer=None),
    regression(),
    double=True,
)

# Preparation of features.
pre = preprocessing
case("standard_scaler", learn, pre.StandardScaler(), regression())
case("standard_scaler_double", learn, pre.StandardScaler(), regression(), double=True)
case("min_max_scaler", learn, pre.MinMaxScaler(clip=True), regression())
case("max_abs_scaler", learn, pre.MaxAbsScaler(), regression())
case("robust_scaler", learn, pre.RobustScaler(), regression())
case("normalizer_l1", learn, pre.Normalizer("l1"), regression())
case("normalizer_l2", learn, pre.Normalizer("l2"), regression())
case("normalizer_max", learn, pre.Normalizer("max"), counts())
case("binarizer", learn, pre.Binarizer(threshold=0.2), regression())
case(
    "bins_one_hot",
    learn,
    pre.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    regression(),
)
case("bins_ordinal", learn, pre.KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), regression())
case("power_yeo_johnson", learn, pre.PowerTransformer(), regression(), rtol=1e-3, atol=1e-4)
case("polynomial_features", learn, pre.PolynomialFeatures(2), regression())
case("one_hot_strings", learn, pre.OneHotEncoder(handle_unknown="ignore"), strings())
case("one_hot_integers", learn, pre.OneHotEncoder(), counts(integers=True, known=True))
case("ordinal_strings", learn, pre.OrdinalEncoder(), strings(known=True))
case(
    "label_binarizer_tree",
    learn,
    multiclass.OneVsRestClassifier(tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
    three(),
)
case("simple_imputer", learn, impute.SimpleImputer(), missing(regression))
case("knn_imputer", learn, impute.KNNImputer(n_neighbors=2), missing(regression))
case("imputer_strings", learn, impute.SimpleImputer(strategy="most_frequent", missing_values=""), strings(gaps=True))
case("select_k_best", learn, feature_selection.SelectKBest(k=2), three(), "transform")
case(
    "rfe",
    learn,
    feature_selection.RFE(lin.LogisticRegression(), n_features_to_select=2),
    three(),
    "transform",
    zipmap=None,
)
case("variance_threshold", learn, feature_selection.VarianceThreshold(0.5), regression())
case("function_transformer", learn, pre.FunctionTransformer(), regression())

# Decomposition, clusters, outliers.
case("pca", learn, decomposition.PCA(2), regression())
case("pca_whiten", learn, decomposition.PCA(3, whiten=True), regression(), atol=1e-4)
case("incremental_pca", learn, decomposition.IncrementalPCA(2), regression(), "transform")
case("truncated_svd", learn, decomposition.TruncatedSVD(2, random_state=0), regression())
case("kernel_pca", learn, decomposition.KernelPCA(2, kernel="rbf"), regression(), atol=1e-4)
case("pls_regression", learn, cross_decomposition.PLSRegression(2), multi_target(), "predict")
case("k_means", learn, cluster.KMeans(3, n_init=1, random_state=0), regression(), "predict", "transform")
case(
    "mini_batch_k_means",
    learn,
    cluster.MiniBatchKMeans(3, n_init=1, random_state=0),
    regression(),
    "predict",
    "transform",
    double=True,
)
case(
    "gaussian_mixture",
    learn,
    mixture.GaussianMixture(2, random_state=0),
    regression(),
    as_column,
    "predict_proba",
    zipmap=None,
    rtol=1e-3,
)
case(
    "gaussian_mixture_diagonal",
    learn,
    mixture.GaussianMixture(2, covariance_type="diag", random_state=0),
    regression(),
    as_column,
    "predict_proba",
    zipmap=None,
    rtol=1e-3,
)
case(
    "isolation_forest",
    learn,
    ensemble.IsolationForest(n_estimators=5, max_samples=20, random_state=0),
    regression(),
    as_column,
    "decision_function",
    atol=1e-4,
)
case(
    "local_outlier_factor",
    learn,
    neighbors.LocalOutlierFactor(n_neighbors=5, novelty=True),
    regression(),
    as_column,
    "decision_function",
    atol=1e-4,
)

# Models of models.
two = [("a", lin.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))]
case("voting_soft", learn, ensemble.VotingClassifier(two, voting="soft", flatten_transform=False), three())
case(
    "voting_regressor", learn, ensemble.VotingRegressor([("a", lin.Ridge()), ("b", lin.Lasso(alpha=0.1))]), regression()
)
case("stacking", learn, ensemble.StackingClassifier(two, cv=2), three())
case(
    "stacking_regressor",
    learn,
    ensemble.StackingRegressor(
        [("a", lin.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=2, random_state=0))],
        lin.LinearRegression(),
        cv=2,
    ),
    regression(),
)
case("calibrated_sigmoid", learn, calibration.CalibratedClassifierCV(lin.LogisticRegression(), cv=2), three())
case(
    "calibrated_isotonic",
    learn,
    calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), method="isotonic", cv=2),
    binary(),
    atol=1e-4,
)
case(
    "one_vs_one",
    learn,
    multiclass.OneVsOneClassifier(lin.LogisticRegression()),
    three(),
    as_column,
    "decision_function",
    zipmap=None,
)
case("one_vs_rest", learn, multiclass.OneVsRestClassifier(lin.LogisticRegression()), three_named(), zipmap=True)
case(
    "multi_output_regressor",
    learn,
    multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)),
    multi_target(),
)
case(
    "multi_output_classifier",
    learn,
    multioutput.MultiOutputClassifier(lin.LogisticRegression()),
    multi_target(classes=True),
    "predict",
    lambda m, x: np.stack(m.predict_proba(x), 1),
)
case("grid_search", learn, model_selection.GridSearchCV(lin.LogisticRegression(), {"C": [0.1, 1]}, cv=2), three())
case(
    "scaled_logistic",
    learn,
    pipeline.make_pipeline(pre.StandardScaler(), decomposition.PCA(3), lin.LogisticRegression()),
    three_named(),
    zipmap=True,
)
case(
    "union_of_features",
    learn,
    pipeline.make_pipeline(
        pipeline.make_union(decomposition.PCA(2), feature_selection.SelectKBest(k=2)), lin.LogisticRegression()
    ),
    three(),
)
