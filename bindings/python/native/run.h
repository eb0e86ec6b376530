// Session's methods that run the model.
#pragma once
#include "session.h"

namespace trunnion::python {
void add_runs(nb::class_<Session>& session);
}
