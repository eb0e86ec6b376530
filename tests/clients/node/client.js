// onnxruntime-node over the library under test. Prints `key: value` lines; ../models.py says what they must be.
'use strict';
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-node');

const model = name => path.join(process.env.CLIENT_MODELS, name);
const print = (key, text) => console.log(`${key}: ${text}`);
const list = data => Array.from(data).join(' ');

function feeds(rows, x, ids, names) {
  return {
    x: new ort.Tensor('float32', Float32Array.from(x), [rows, 3]),
    ids: new ort.Tensor('int64', BigInt64Array.from(ids), [rows]),
    names: new ort.Tensor('string', names, [rows]),
  };
}

function show(prefix, results) {
  print(`${prefix}.scaled`, list(results.scaled.data));
  print(`${prefix}.total`, list(results.total.data));
  print(`${prefix}.next`, list(results.next.data));
  print(`${prefix}.greeting`, results.greeting.data.join('|'));
}

async function message(promise) {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error.message.replace(/\s+/g, ' ');
  }
}

async function main() {
  const file = await ort.InferenceSession.create(model('ports.onnx'));
  print('inputs', file.inputNames.join(' '));
  print('outputs', file.outputNames.join(' '));
  show('file', await file.run(feeds(1, [0, 1, 2], [7n], ['ann'])));

  const bytes = await ort.InferenceSession.create(fs.readFileSync(model('ports.onnx')), { intraOpNumThreads: 1 });
  const two = feeds(2, [-3, -2, -1, 0, 1, 2], [-1n, 9007199254740993n], ['bç', '']);
  const results = await bytes.run(two);
  print('bytes.dims', list(results.scaled.dims));
  show('bytes', results);
  const some = await bytes.run(two, ['next', 'total']);
  print('some', ['next', 'total'].map(name => some[name] ? list(some[name].data) : `no ${name}`).join(' '));
  const many = await Promise.all([1, 2, 3, 4].map(() => bytes.run(two)));
  print('concurrent', many.map(r => r.total.data[1]).join(' '));
  const mine = new ort.Tensor('float32', new Float32Array(2), [2]);
  await bytes.run(two, { total: mine });
  print('preallocated', list(mine.data));

  print('error.rank', await message(file.run({ ...two, x: new ort.Tensor('float32', new Float32Array(6), [6]) })));
  print('error.dims', await message(file.run({ ...two, x: new ort.Tensor('float32', new Float32Array(4), [2, 2]) })));
  print('error.absent', await message(ort.InferenceSession.create(model('absent.onnx'))));
  print('error.unknown', await message(ort.InferenceSession.create(model('unknown.onnx'))));
  for (const session of [file, bytes]) await session.release?.();

  const loaded = fs.readFileSync('/proc/self/maps', 'utf8').match(/\S*\/libonnxruntime[.-]\S*/g) ?? [];
  print('library', [...new Set(loaded)].join(' '));
}

main().catch(error => {
  console.error(error);
  process.exit(1);
});
