//! ort over the library under test. Prints `key: value` lines; ../models.py says what they must be.
use ort::session::{OutputSelector, RunOptions, Session, SessionInputValue, SessionOutputs};
use ort::value::Tensor;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Display;

fn model(name: &str) -> String {
    format!("{}/{name}", std::env::var("CLIENT_MODELS").unwrap())
}

fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" ")
}

fn message<T, E: Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "no error".into(),
        Err(e) => e.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

type Feeds = Vec<(Cow<'static, str>, SessionInputValue<'static>)>;

fn feeds(shape: Vec<i64>, x: Vec<f32>, ids: Vec<i64>, names: &'static [&'static str]) -> ort::Result<Feeds> {
    let rows = ids.len();
    Ok(ort::inputs![
        "x" => Tensor::from_array((shape, x))?,
        "ids" => Tensor::from_array(([rows], ids))?,
        "names" => Tensor::from_string_array(([rows], names))?,
    ])
}

fn show(prefix: &str, r: &SessionOutputs) -> ort::Result<()> {
    println!("{prefix}.scaled: {}", list(r["scaled"].try_extract_tensor::<f32>()?.1));
    println!("{prefix}.total: {}", list(r["total"].try_extract_tensor::<f32>()?.1));
    println!("{prefix}.next: {}", list(r["next"].try_extract_tensor::<i64>()?.1));
    println!("{prefix}.greeting: {}", r["greeting"].try_extract_strings()?.1.join("|"));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let env = ort::init().build()?;

    let mut file = Session::builder(&env)?.commit_from_file(model("ports.onnx"))?;
    println!("inputs: {}", list(file.inputs().iter().map(|i| i.name().to_string())));
    println!("outputs: {}", list(file.outputs().iter().map(|o| o.name().to_string())));
    {
        let m = file.metadata()?;
        println!("metadata.producer: {}", m.producer().unwrap_or_default());
        println!("metadata.graph: {}", m.name().unwrap_or_default());
        println!("metadata.domain: {}", m.domain().unwrap_or_default());
        println!("metadata.description: {}", m.description().unwrap_or_default());
        println!("metadata.version: {}", m.version().unwrap_or_default());
        println!("metadata.custom: {}", m.custom("team").unwrap_or_default());
    }
    show("file", &file.run(feeds(vec![1, 3], vec![0., 1., 2.], vec![7], &["ann"])?)?)?;

    let data = std::fs::read(model("ports.onnx"))?;
    let mut bytes = Session::builder(&env)?.with_intra_threads(1)?.commit_from_memory(&data)?;
    let two = || feeds(vec![2, 3], vec![-3., -2., -1., 0., 1., 2.], vec![-1, 9007199254740993], &["bç", ""]);
    {
        let results = bytes.run(two()?)?;
        println!("bytes.dims: {}", list(results["scaled"].try_extract_tensor::<f32>()?.0.iter()));
        show("bytes", &results)?;
    }
    {
        let options = RunOptions::new()?.with_outputs(OutputSelector::no_default().with("next").with("total"));
        let some = bytes.run_with_options(two()?, &options)?;
        let next = list(some["next"].try_extract_tensor::<i64>()?.1);
        println!("some: {next} {}", list(some["total"].try_extract_tensor::<f32>()?.1));
    }

    let flat = feeds(vec![6], vec![0.; 6], vec![7], &["ann"])?;
    println!("error.rank: {}", message(file.run(flat)));
    let narrow = feeds(vec![1, 2], vec![0.; 2], vec![7], &["ann"])?;
    println!("error.dims: {}", message(file.run(narrow)));
    println!("error.absent: {}", message(Session::builder(&env)?.commit_from_file(model("absent.onnx"))));
    println!("error.unknown: {}", message(Session::builder(&env)?.commit_from_file(model("unknown.onnx"))));

    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let loaded: BTreeSet<_> = maps
        .lines()
        .filter_map(|l| l.split_whitespace().last())
        .filter(|p| p.contains("/libonnxruntime.") || p.contains("/libonnxruntime-"))
        .collect();
    println!("library: {}", list(loaded));
    Ok(())
}
