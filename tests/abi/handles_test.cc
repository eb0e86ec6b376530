// Handles that were released or are of another kind, in libraries that look them up (TRUNNION_CHECK_HANDLES).
// src/abi/handle_checks_test.cc has the look-up itself, in every build.
#include <string>

#include "client.h"
#include "tiny_model.h"

namespace {

struct Handles : testing::Test {
  void SetUp() override {
    if (!ABI_CHECKS_HANDLES) GTEST_SKIP() << "this library was built without TRUNNION_CHECK_HANDLES";
  }
  static void says(const std::string& text, const char* function, const char* part) {
    EXPECT_EQ(text.rfind(function, 0), 0u) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Handles, OursReleasedOnesGiveAStatus) {
  OrtSessionOptions* options = nullptr;
  OK(api()->CreateSessionOptions(&options));
  OK(api()->SetIntraOpNumThreads(options, 1));
  api()->ReleaseSessionOptions(options);
  OrtStatus* status = api()->SetIntraOpNumThreads(options, 1);
  EXPECT_EQ(api()->GetErrorCode(status), ORT_INVALID_ARGUMENT);
  says(message(status), "OrtApi::SetIntraOpNumThreads: ", "is no OrtSessionOptions that lives");
}

TEST_F(Handles, OursAreReleasedOnce) {
  OrtMemoryInfo* info = nullptr;
  OK(api()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  api()->ReleaseMemoryInfo(info);
  testing::internal::CaptureStderr();
  api()->ReleaseMemoryInfo(info);
  says(testing::internal::GetCapturedStderr(), "OrtApi::ReleaseMemoryInfo: ", "is no OrtMemoryInfo that lives");
  OrtStatus* status = api()->CreateStatus(ORT_FAIL, "once");
  api()->ReleaseStatus(status);
  testing::internal::CaptureStderr();
  api()->ReleaseStatus(status);
  EXPECT_EQ(api()->GetErrorCode(status), ORT_OK);
  says(testing::internal::GetCapturedStderr(), "OrtApi::ReleaseStatus: ", "OrtApi::GetErrorCode: ");
}

TEST_F(Handles, OursOfAnotherKindAreNamed) {
  OrtRunOptions* run = nullptr;
  OK(api()->CreateRunOptions(&run));
  auto* const wrong = reinterpret_cast<OrtSessionOptions*>(run);
  says(message(api()->EnableProfiling(wrong, "p")),
       "OrtApi::EnableProfiling: ", "a handle of the wrong kind: OrtRunOptions, not OrtSessionOptions");
  testing::internal::CaptureStderr();
  api()->ReleaseSessionOptions(wrong);
  says(testing::internal::GetCapturedStderr(), "OrtApi::ReleaseSessionOptions: ", "OrtRunOptions");
  OK(api()->RunOptionsSetRunTag(run, "it lives"));
  api()->ReleaseRunOptions(run);
  int mine = 0;
  int64_t out = 0;
  says(message(api()->GetDimensions(reinterpret_cast<OrtTensorTypeAndShapeInfo*>(&mine), &out, 1)),
       "OrtApi::GetDimensions: ", "is no OrtTensorTypeAndShapeInfo that lives: it was released, or is no handle");
}

TEST_F(Handles, OursOfARunAndOfItsSession) {
  const std::string bytes = tiny::model({{tiny::node("Relu", {"x"}, {"y"})},
                                         {tiny::value_info("x", tiny::kFloat, {"1"})},
                                         {tiny::value_info("y", tiny::kFloat, {"1"})},
                                         {}});
  OrtEnv* env = nullptr;
  OrtSession* session = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OK(api()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "handles", &env));
  OK(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), nullptr, &session));
  OK(api()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  float data = -1;
  const int64_t one = 1;
  OrtValue *x = nullptr, *y = nullptr;
  OK(api()->CreateTensorWithDataAsOrtValue(cpu, &data, sizeof data, &one, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &x));
  const char *in = "x", *out = "y";
  OK(api()->Run(session, nullptr, &in, &x, 1, &out, 1, &y));
  api()->ReleaseValue(y);
  api()->ReleaseValue(x);
  y = nullptr;
  EXPECT_NE(message(api()->Run(session, nullptr, &in, &x, 1, &out, 1, &y)).find("is no OrtValue that lives"),
            std::string::npos);
  EXPECT_EQ(y, nullptr);
  OrtValue* sequence = nullptr;
  EXPECT_NE(message(api()->CreateValue(&x, 1, ONNX_TYPE_SEQUENCE, &sequence)).find("is no OrtValue that lives"),
            std::string::npos);
  api()->ReleaseSession(session);
  size_t count = 0;
  says(message(api()->SessionGetInputCount(session, &count)),
       "OrtApi::SessionGetInputCount: ", "is no OrtSession that lives");
  api()->ReleaseMemoryInfo(cpu);
  api()->ReleaseEnv(env);
  OrtSession* second = nullptr;
  says(message(api()->CreateSessionFromArray(env, bytes.data(), bytes.size(), nullptr, &second)),
       "OrtApi::CreateSessionFromArray: ", "is no OrtEnv that lives");
}

}  // namespace
