// onnxruntime_go over the library under test. Prints `key: value` lines; ../models.py says what they must be.
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func model(name string) string { return os.Getenv("CLIENT_MODELS") + "/" + name }

func show(key string, text any) { fmt.Printf("%s: %v\n", key, text) }

func list[T any](values []T) string { return strings.Trim(fmt.Sprint(values), "[]") }

func message(err error) string {
	if err == nil {
		return "no error"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

var inputs = []string{"x", "ids", "names"}
var outputs = []string{"scaled", "total", "next", "greeting"}

// Values that live until the program ends need no Destroy: it is a short one.
func feeds(x ort.Shape, data []float32, ids []int64, names []string) []ort.Value {
	rows := ort.NewShape(int64(len(ids)))
	text := must(ort.NewStringTensor(rows))
	check(text.SetContents(names))
	return []ort.Value{must(ort.NewTensor(x, data)), must(ort.NewTensor(rows, ids)), text}
}

func run(session *ort.DynamicAdvancedSession, values []ort.Value, wanted int) ([]ort.Value, error) {
	results := make([]ort.Value, wanted) // nil: made by the library
	err := session.Run(values, results)
	return results, err
}

func floats(v ort.Value) string { return list(v.(*ort.Tensor[float32]).GetData()) }
func ints(v ort.Value) string   { return list(v.(*ort.Tensor[int64]).GetData()) }

func print(prefix string, r []ort.Value) {
	show(prefix+".scaled", floats(r[0]))
	show(prefix+".total", floats(r[1]))
	show(prefix+".next", ints(r[2]))
	show(prefix+".greeting", strings.Join(must(r[3].(*ort.StringTensor).GetContents()), "|"))
}

func metadata() {
	m := must(ort.GetModelMetadata(model("ports.onnx")))
	defer m.Destroy()
	show("metadata.producer", must(m.GetProducerName()))
	show("metadata.graph", must(m.GetGraphName()))
	show("metadata.domain", must(m.GetDomain()))
	show("metadata.description", must(m.GetDescription()))
	show("metadata.version", must(m.GetVersion()))
	custom, _, err := m.LookupCustomMetadataMap("team")
	check(err)
	show("metadata.custom", custom)
}

func names(infos []ort.InputOutputInfo) string {
	var all []string
	for _, info := range infos {
		all = append(all, info.Name)
	}
	return strings.Join(all, " ")
}

func main() {
	ort.SetSharedLibraryPath(os.Getenv("CLIENT_LIBRARY"))
	check(ort.InitializeEnvironment())
	defer ort.DestroyEnvironment()

	in, out, err := ort.GetInputOutputInfo(model("ports.onnx"))
	check(err)
	show("inputs", names(in))
	show("outputs", names(out))
	metadata()

	file := must(ort.NewDynamicAdvancedSession(model("ports.onnx"), inputs, outputs, nil))
	defer file.Destroy()
	one := feeds(ort.NewShape(1, 3), []float32{0, 1, 2}, []int64{7}, []string{"ann"})
	print("file", must(run(file, one, 4)))

	options := must(ort.NewSessionOptions())
	defer options.Destroy()
	check(options.SetIntraOpNumThreads(1))
	data := must(os.ReadFile(model("ports.onnx")))
	bytes := must(ort.NewDynamicAdvancedSessionWithONNXData(data, inputs, outputs, options))
	defer bytes.Destroy()
	two := feeds(ort.NewShape(2, 3), []float32{-3, -2, -1, 0, 1, 2}, []int64{-1, 9007199254740993}, []string{"bç", ""})
	results := must(run(bytes, two, 4))
	show("bytes.dims", list(results[0].GetShape()))
	print("bytes", results)

	some := must(ort.NewDynamicAdvancedSessionWithONNXData(data, inputs, []string{"next", "total"}, nil))
	defer some.Destroy()
	two_results := must(run(some, two, 2))
	show("some", ints(two_results[0])+" "+floats(two_results[1]))

	mine := must(ort.NewEmptyTensor[float32](ort.NewShape(2)))
	check(bytes.Run(two, []ort.Value{nil, mine, nil, nil}))
	show("preallocated", list(mine.GetData()))

	flat := feeds(ort.NewShape(6), make([]float32, 6), []int64{7}, []string{"ann"})
	_, err = run(file, flat, 4)
	show("error.rank", message(err))
	narrow := feeds(ort.NewShape(1, 2), make([]float32, 2), []int64{7}, []string{"ann"})
	_, err = run(file, narrow, 4)
	show("error.dims", message(err))
	for key, name := range map[string]string{"error.absent": "absent.onnx", "error.unknown": "unknown.onnx"} {
		_, err = ort.NewDynamicAdvancedSession(model(name), []string{"x"}, []string{"y"}, nil)
		show(key, message(err))
	}

	seen := map[string]bool{}
	var loaded []string
	for _, path := range regexp.MustCompile(`\S*/libonnxruntime[.-]\S*`).FindAllString(string(must(os.ReadFile("/proc/self/maps"))), -1) {
		if !seen[path] {
			seen[path] = true
			loaded = append(loaded, path)
		}
	}
	show("library", strings.Join(loaded, " "))
}
