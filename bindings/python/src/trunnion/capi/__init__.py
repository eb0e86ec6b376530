"""The names under which programs reach into onnxruntime.capi."""
