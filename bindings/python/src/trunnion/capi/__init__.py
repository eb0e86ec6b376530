"""The names by which programs reach into onnxruntime.capi: exceptions, classes, the native module's own interface."""
